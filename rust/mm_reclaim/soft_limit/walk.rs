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
use kernel::sync::{
    atomic::{
        Atomic,
        Relaxed, //
    },
    rcu::Guard, //
};

use super::{
    is_listed,
    HasSoftLimit, //
};
use crate::{
    iter::{
        path,
        Group,
        Order,
        Verdict, //
    },
    memcg_bitmap::MemcgId,
    sys::Node, //
};

/// Where a walk remembers the top below which it reached a group: a number, which is 0 if it goes
/// through all groups by the hierarchy.
#[derive(Clone, Copy)]
pub(crate) enum Tops<'a> {
    /// Here, if nobody else takes part: the walk is where it was last.
    Alone(&'a Atomic<u32>),
    /// In each group, if it is shared on this node, as walkers go on from where another one left
    /// it. All reach a group below the same top, unless marks change meanwhile.
    Shared(Node),
}

impl Tops<'_> {
    fn at<'p, G: HasSoftLimit>(&'p self, pos: &'p G) -> &'p Atomic<u32> {
        match self {
            Self::Alone(top) => top,
            Self::Shared(node) => pos.excess_top(*node),
        }
    }
}

/// What a walk is doing.
#[derive(Clone, Copy)]
enum Place {
    /// It goes through what is at and below a top.
    Inside,
    /// It looks through those listed for the next top, or, when it has visited everybody
    /// (`is_end`), for those to take off the list. It looked at this one last.
    Listed { id: MemcgId, is_end: bool },
}

/// The order of a walk that visits groups in excess, and those below them.
///
/// It has other groups, too: those that it passes over, and those that
/// [`verdict`](super::verdict) refuses. It serves one search for the next group.
#[derive(Clone)]
pub(crate) struct ExcessOrder<'a> {
    tops: Tops<'a>,
    place: Cell<Place>,
}

impl<G: Group + HasSoftLimit> Order<G> for ExcessOrder<'_> {
    fn next<'g>(
        &self,
        pos: Option<&'g G>,
        verdict: Verdict,
        root: &'g G,
        guard: &'g Guard,
    ) -> Option<&'g G> {
        // Only the root of all has everybody below it who is listed.
        if root.parent().is_some() {
            return G::next(pos, verdict, root, guard);
        }
        match (pos, verdict, self.place.get()) {
            (None, ..) if root.excess().is_marked() => Some(self.reach(root, None)),
            (None, ..) => self.next_listed(0, false, root, guard),
            // Passed over. Any other verdict is that on a position which is elsewhere.
            (_, Verdict::SkipTree, Place::Listed { id, is_end }) => {
                self.next_listed(id.after(), is_end, root, guard)
            }
            (Some(pos), ..) => self.next_inside(pos, verdict, root, guard),
        }
    }

    fn passes_over(&self) -> bool {
        !matches!(self.place.get(), Place::Inside)
    }
}

impl<'a> ExcessOrder<'a> {
    /// Creates the order of a walk that remembers in `tops` where it is.
    pub(crate) fn new(tops: Tops<'a>) -> Self {
        Self {
            tops,
            place: Cell::new(Place::Inside),
        }
    }

    fn reach<'g, G: HasSoftLimit>(&self, group: &'g G, top: Option<MemcgId>) -> &'g G {
        self.place.set(Place::Inside);
        // ORDERING: Visible to whoever finds a shared position here: it moves later, by a fully
        // ordered operation, and to read what is remembered depends on its address.
        self.tops
            .at(group)
            .store(top.map_or(0, |id| id.as_raw().into()), Relaxed);
        group
    }

    /// Returns what follows below the top in which the walk reached `pos`, or else what comes after
    /// that one.
    fn next_inside<'g, G: Group + HasSoftLimit>(
        &self,
        pos: &'g G,
        verdict: Verdict,
        root: &'g G,
        guard: &'g Guard,
    ) -> Option<&'g G> {
        let next = |top| G::next(Some(pos), verdict, top, guard);

        let Some(id) = MemcgId::new(self.tops.at(pos).load(Relaxed)) else {
            return next(root).map(|group| self.reach(group, None));
        };
        // A top that went offline gave its id back. So are those below it offline then, and there
        // is no more to visit.
        path(pos)
            .find(|above| above.listed_id() == Some(id))
            .and_then(next)
            .map(|group| self.reach(group, Some(id)))
            .or_else(|| self.next_listed(id.after(), false, root, guard))
    }

    /// Returns the listed group with the lowest id, from number `start` on: a top, or one to pass
    /// over. After the last one, goes through the list once more, to its end (`is_end`): there is
    /// no top then, and who has no mark is taken off.
    fn next_listed<'g, G: HasSoftLimit>(
        &self,
        mut start: u32,
        mut is_end: bool,
        root: &'g G,
        guard: &'g Guard,
    ) -> Option<&'g G> {
        loop {
            let Some(id) = root.excess_bitmap().next(start) else {
                if is_end {
                    return None;
                }
                (start, is_end) = (0, true);
                continue;
            };
            let group = root.with_id(id, guard);

            start = id.after();
            if is_end && !group.is_some_and(|group| group.excess().is_marked()) {
                unlist(id, root, guard);
            }
            if let Some(group) = group {
                if !is_end && is_top(group) {
                    return Some(self.reach(group, Some(id)));
                }
                self.place.set(Place::Listed { id, is_end });
                return Some(group);
            }
        }
    }
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
