// SPDX-License-Identifier: GPL-2.0

//! The order in which groups in excess are visited.
//!
//! A walk of all groups goes from one *top*, a listed group that is not below another listed one,
//! to the next by their ids, and through what is below each by the hierarchy: so it costs what
//! there is to visit, however many siblings are not in excess. A walk below another group follows
//! the hierarchy, as most of those listed are elsewhere.
//!
//! Groups are listed when they are marked. Losing the mark does not take a group off the list: a
//! walk does that at its end. Reclaim takes marks away while it walks, so a walk relies on none:
//!
//! - It remembers the id of the top that it is in, and goes on below that one, and then from its
//!   id: so ids only ascend, and the walk ends, whatever happens to marks.
//! - A top stays one for all of the walk. If its mark is gone, it is still gone through for those
//!   below it that have one of their own, which a walk by their ids would visit twice, or not at
//!   all.
//!
//! So a walk visits a group that is in excess all the time exactly once, and none twice, as long as
//! marks are only taken away. Where a mark comes meanwhile, or another walk ends, it may miss what
//! is below that group, or visit it again, once.
//!
//! There may be as many listed as there are ids. So the order has each of them, also those that are
//! no tops, and passes over these: [`iter`](crate::iter) then leaves RCU as it does where a filter
//! refuses many.

use core::cell::Cell;
use kernel::sync::rcu::Guard;

use super::{
    is_listed,
    path,
    HasSoftLimit, //
};
use crate::{
    iter::{
        Group,
        Order, //
    },
    memcg_bitmap::MemcgId, //
};

/// Where a walk remembers the top that it is in.
pub(crate) trait TopStore<G> {
    /// Returns the number of the top below which the walk reached `pos`, where it is; 0 if it goes
    /// through all groups by the hierarchy.
    fn top(&self, pos: &G) -> u32;

    /// Remembers it for `pos`, which the walk is about to reach.
    fn set_top(&self, pos: &G, top: u32);
}

/// The memory of a walk that nobody else takes part in: its position is what it was given last.
impl<G> TopStore<G> for &Cell<u32> {
    #[inline]
    fn top(&self, _pos: &G) -> u32 {
        self.get()
    }

    #[inline]
    fn set_top(&self, _pos: &G, top: u32) {
        self.set(top);
    }
}

/// What a walk is doing.
#[derive(Clone, Copy)]
enum Place {
    /// It goes through what is at and below a top.
    Inside,
    /// It looks for the next top. This one is none.
    Between(MemcgId),
    /// It visited everybody, and takes those off the list that lost their marks. It looked at this
    /// one last.
    AtEnd(MemcgId),
}

/// The order of a walk that visits groups in excess, and those below them.
///
/// It has other groups, too: those that it passes over, and those that
/// [`verdict`](super::verdict) refuses. It serves one search for the next group.
#[derive(Clone)]
pub(crate) struct ExcessOrder<S> {
    tops: S,
    place: Cell<Place>,
}

impl<S> ExcessOrder<S> {
    /// Creates the order of a walk that remembers in `tops` where it is.
    pub(crate) fn new(tops: S) -> Self {
        Self {
            tops,
            place: Cell::new(Place::Inside),
        }
    }
}

impl<G: Group + HasSoftLimit, S: TopStore<G>> Order<G> for ExcessOrder<S> {
    fn next<'g>(&self, pos: Option<&'g G>, root: &'g G, guard: &'g Guard) -> Option<&'g G> {
        if is_by_hierarchy(root) {
            return G::next_descendant_pre(pos, root, guard);
        }
        match pos {
            None if root.excess().is_marked() => Some(self.reach(root, None)),
            None => self.next_top(0, root, guard),
            Some(pos) => self.next_from(pos, root, guard, |top| {
                G::next_descendant_pre(Some(pos), top, guard)
            }),
        }
    }

    fn next_after_subtree<'g>(&self, group: &'g G, root: &'g G, guard: &'g Guard) -> Option<&'g G> {
        if is_by_hierarchy(root) {
            return group.next_after_subtree(root, guard);
        }
        match self.place.get() {
            Place::Inside => self.next_from(group, root, guard, |top| {
                group.next_after_subtree(top, guard)
            }),
            Place::Between(id) => self.next_top(id.after(), root, guard),
            Place::AtEnd(id) => self.unlist_next(id.after(), root, guard),
        }
    }

    #[inline]
    fn passes_over(&self) -> bool {
        !matches!(self.place.get(), Place::Inside)
    }
}

impl<S> ExcessOrder<S> {
    fn reach<'g, G>(&self, group: &'g G, top: Option<MemcgId>) -> &'g G
    where
        S: TopStore<G>,
    {
        self.place.set(Place::Inside);
        self.tops
            .set_top(group, top.map_or(0, |id| u32::from(id.as_raw())));
        group
    }

    /// Returns what `next` finds below the top in which the walk reached `pos`, or else what comes
    /// after that one.
    fn next_from<'g, G: HasSoftLimit>(
        &self,
        pos: &'g G,
        root: &'g G,
        guard: &'g Guard,
        next: impl FnOnce(&'g G) -> Option<&'g G>,
    ) -> Option<&'g G>
    where
        S: TopStore<G>,
    {
        let Some(id) = MemcgId::new(self.tops.top(pos)) else {
            return next(root).map(|group| self.reach(group, None));
        };

        // A top that went offline gave its id back. So are those below it offline then, and there
        // is no more to visit.
        path(pos)
            .find(|above| above.listed_id() == Some(id))
            .and_then(next)
            .map(|group| self.reach(group, Some(id)))
            .or_else(|| self.next_top(id.after(), root, guard))
    }

    /// Returns the listed group with the lowest id, from number `start` on: a top, or one to pass
    /// over. After the last one, begins with those that lost their marks.
    fn next_top<'g, G: HasSoftLimit>(
        &self,
        mut start: u32,
        root: &'g G,
        guard: &'g Guard,
    ) -> Option<&'g G>
    where
        S: TopStore<G>,
    {
        while let Some(id) = root.excess_bitmap().next(start) {
            start = id.after();

            if let Some(group) = root.with_id(id, guard) {
                if is_top(group) {
                    return Some(self.reach(group, Some(id)));
                }
                self.place.set(Place::Between(id));
                return Some(group);
            }
        }
        self.unlist_next(0, root, guard)
    }

    /// Returns the listed group with the lowest id, from number `start` on, to pass over. Has taken
    /// it off the list if it has no mark.
    fn unlist_next<'g, G: HasSoftLimit>(
        &self,
        mut start: u32,
        root: &'g G,
        guard: &'g Guard,
    ) -> Option<&'g G> {
        while let Some(id) = root.excess_bitmap().next(start) {
            let group = root.with_id(id, guard);

            start = id.after();
            if !group.is_some_and(|group| group.excess().is_marked()) {
                unlist(id, root, guard);
            }
            if group.is_some() {
                self.place.set(Place::AtEnd(id));
                return group;
            }
        }
        None
    }
}

/// Returns whether a walk below `root` goes by the hierarchy: only the root of all has everybody
/// below it who is listed.
fn is_by_hierarchy<G: HasSoftLimit>(root: &G) -> bool {
    root.parent().is_some()
}

/// Returns whether a listed group is a top, and there may be somebody to visit at it or below.
fn is_top<G: HasSoftLimit>(group: &G) -> bool {
    let excess = group.excess();

    (excess.is_marked() || excess.nr_below() > 0) && !path(group).skip(1).any(is_listed)
}

/// Takes an id off the list, unless the group that has it by now is marked.
fn unlist<G: HasSoftLimit>(id: MemcgId, root: &G, guard: &Guard) {
    // ORDERING: Fully ordered before the mark is read again; pairs with `update_one`.
    root.excess_bitmap().clear(id);
    if root
        .with_id(id, guard)
        .is_some_and(|group| group.excess().is_marked())
    {
        root.excess_bitmap().set(id);
    }
}
