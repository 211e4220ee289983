// SPDX-License-Identifier: GPL-2.0

//! The walk of a hierarchy of groups, alone or shared with other reclaimers.
//!
//! The rules of the shared walk are those of `mem_cgroup_iter()`: walkers of the same hierarchy and
//! node share one position, so that together they visit every group once per round. The predicate
//! comes from the series "soft limit rework" of 2013 (`mem_cgroup_iter_cond()`).

use core::ops::Deref;
use kernel::sync::rcu::{
    self,
    Guard, //
};

/// What a filter says about a group.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Return the group.
    Visit,
    /// Pass over the group, but look at its children.
    Skip,
    /// Pass over the group and all of its descendants.
    SkipTree,
}

/// A group in a hierarchy that may change while it is walked.
///
/// A `&Self` says that the group is valid, and no more: under RCU, it may have no reference left.
/// The only way to a reference is [`try_get`](Self::try_get).
pub(crate) trait Group: Sized {
    /// A reference that keeps a group.
    type Ref: Deref<Target = Self>;

    /// Returns what follows `pos` in a pre-order walk of the hierarchy below `root`, which begins
    /// with `root` itself (`pos` is none). `pos` may have left the hierarchy.
    fn next_descendant_pre<'g>(
        pos: Option<&'g Self>,
        root: &'g Self,
        guard: &'g Guard,
    ) -> Option<&'g Self>;

    /// Returns what follows the group and all of its descendants in a pre-order walk of the
    /// hierarchy below `root`.
    ///
    /// Never enters the group's subtree, also if it grows meanwhile.
    fn next_after_subtree<'g>(&'g self, root: &'g Self, guard: &'g Guard) -> Option<&'g Self>;

    /// Gets a reference, unless the group is gone.
    fn try_get(&self) -> Option<Self::Ref>;
}

/// The order in which a walk visits the groups of a hierarchy.
pub(crate) trait Order<T> {
    /// Returns what follows `pos`, or the first group if that is none. `pos` may have left the
    /// hierarchy.
    fn next<'g>(&self, pos: Option<&'g T>, root: &'g T, guard: &'g Guard) -> Option<&'g T>;

    /// Returns what follows a group and all of its descendants.
    fn next_after_subtree<'g>(&self, group: &'g T, root: &'g T, guard: &'g Guard) -> Option<&'g T>;
}

/// Each group before its descendants, and these before the next sibling.
#[derive(Clone, Copy)]
pub(crate) struct PreOrder;

impl<T: Group> Order<T> for PreOrder {
    #[inline]
    fn next<'g>(&self, pos: Option<&'g T>, root: &'g T, guard: &'g Guard) -> Option<&'g T> {
        T::next_descendant_pre(pos, root, guard)
    }

    #[inline]
    fn next_after_subtree<'g>(&self, group: &'g T, root: &'g T, guard: &'g Guard) -> Option<&'g T> {
        group.next_after_subtree(root, guard)
    }
}

/// The position of a shared walk.
pub(crate) trait SharedPosition<T: Group> {
    /// Returns the number of rounds that were completed.
    fn generation(&self) -> i32;

    /// Counts a completed round.
    fn complete_round(&self);

    /// Returns the group visited last, none at the start of a round.
    fn load<'g>(&'g self, guard: &'g Guard) -> Option<&'g T>;

    /// Moves the position to what a walk arrived at, or to the start of a round, if it is still at
    /// `from`, and returns whether it was.
    ///
    /// A bare reference to a group is not enough: the position is taken back when the last
    /// reference on its group is given up, which is too late once that has happened.
    fn advance(&self, from: Option<&T>, to: Option<&Step<T>>) -> bool;
}

/// One walker's part in a shared walk.
pub(crate) struct Cookie<'a, P> {
    /// What the walkers share; a position in the hierarchy that is walked.
    pub(crate) shared: &'a P,
    /// The round that this walker takes part in.
    pub(crate) generation: &'a mut i32,
}

/// A group that a walk arrived at.
pub(crate) enum Step<T: Group> {
    /// The root, which the caller keeps alive.
    Root,
    /// Another group, with a reference.
    Descendant(T::Ref),
}

impl<T: Group> Step<T> {
    /// Returns the group, which is `root` or below.
    pub(crate) fn get<'a>(&'a self, root: &'a T) -> &'a T {
        match self {
            Self::Root => root,
            Self::Descendant(group) => group,
        }
    }
}

/// Returns the next group of the hierarchy below `root` in `order`, or none at the end of a round.
///
/// `prev` is what the call before returned, none in the first call of a round. With a `cookie`, the
/// position is shared, and `prev` only tells whether the walk has begun. `filter` is called under
/// RCU, for groups that may be dying; it must not sleep.
///
/// Does not sleep.
pub(crate) fn next<T: Group, P: SharedPosition<T>>(
    root: &T,
    prev: Option<&T>,
    mut cookie: Option<Cookie<'_, P>>,
    order: impl Order<T>,
    mut filter: impl FnMut(&T) -> Verdict,
) -> Option<Step<T>> {
    let guard = rcu::read_lock();

    loop {
        let Some(cookie) = &mut cookie else {
            return find_next(root, prev, &order, &mut filter, &guard);
        };

        // A walker joins the current round at its start, and leaves when another one completes it.
        let generation = cookie.shared.generation();
        if prev.is_none() {
            *cookie.generation = generation;
        } else if *cookie.generation != generation {
            return None;
        }

        let pos = cookie.shared.load(&guard);
        let step = find_next(root, pos, &order, &mut filter, &guard);

        // Only the root or a group with a reference becomes the position, so that the position is
        // taken back before it is freed. If another walker moved it meanwhile, that one visits
        // `step`.
        if !cookie.shared.advance(pos, step.as_ref()) {
            continue;
        }
        if step.is_none() {
            cookie.shared.complete_round();

            // A walker that arrives at the very end of a round must see at least one group, and
            // begins another round: but only if the round didn't begin here, because a filter that
            // refuses every group would make that endless.
            if prev.is_none() && pos.is_some() {
                continue;
            }
        }
        return step;
    }
}

/// Finds the first group after `pos` that passes the filter and can be referenced.
fn find_next<'g, T: Group>(
    root: &'g T,
    pos: Option<&'g T>,
    order: &impl Order<T>,
    filter: &mut impl FnMut(&T) -> Verdict,
    guard: &'g Guard,
) -> Option<Step<T>> {
    let mut next = order.next(pos, root, guard);

    while let Some(group) = next {
        next = match filter(group) {
            Verdict::Visit if core::ptr::eq(group, root) => return Some(Step::Root),
            Verdict::Visit => match group.try_get() {
                Some(group) => return Some(Step::Descendant(group)),
                None => order.next(Some(group), root, guard),
            },
            Verdict::Skip => order.next(Some(group), root, guard),
            Verdict::SkipTree => order.next_after_subtree(group, root, guard),
        };
    }
    None
}
