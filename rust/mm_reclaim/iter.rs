// SPDX-License-Identifier: GPL-2.0

//! The walk of a hierarchy of groups, alone or shared with other reclaimers.
//!
//! The rules of the shared walk are those of `mem_cgroup_iter()`: walkers of the same hierarchy and
//! node share one position, so that together they visit every group once per round. The predicate
//! comes from the series "soft limit rework" of 2013 (`mem_cgroup_iter_cond()`).
//!
//! A filter may refuse any number of groups. So that a grace period need not wait for all of them,
//! a walk leaves RCU after [`MAX_SKIPPED`], with a reference on the last one, and goes on from
//! there.

use core::{
    ops::Deref,
    ptr, //
};
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

    /// Returns a number that no other group has, nor will have when this one is freed.
    fn serial(&self) -> u64;
}

/// The order in which a walk visits the groups of a hierarchy.
pub(crate) trait Order<T> {
    /// Returns what follows `pos`, or the first group if that is none. `pos` may have left the
    /// hierarchy.
    fn next<'g>(&self, pos: Option<&'g T>, root: &'g T, guard: &'g Guard) -> Option<&'g T>;

    /// Returns what follows a group and all of its descendants.
    fn next_after_subtree<'g>(&self, group: &'g T, root: &'g T, guard: &'g Guard) -> Option<&'g T>;

    /// Returns whether the walk does not visit the group that the order returned last, nor its
    /// descendants, whatever the filter says.
    #[inline]
    fn passes_over(&self) -> bool {
        false
    }
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

    /// Gets a reference on `group`, unless it is gone. The root needs none.
    #[inline]
    fn hold(group: &T, root: &T) -> Option<Self> {
        if ptr::eq(group, root) {
            Some(Self::Root)
        } else {
            group.try_get().map(Self::Descendant)
        }
    }
}

/// How many groups are skipped, at most, in one RCU read-side critical section, not counting those
/// that are gone.
pub(crate) const MAX_SKIPPED: u32 = 64;

/// What a walk has behind it.
#[derive(Clone, Copy)]
enum Past {
    /// The group.
    Group,
    /// The group and all of its descendants.
    Subtree,
}

/// Where a walk goes on in its next RCU read-side critical section.
struct Resume<T: Group> {
    /// The group that was skipped last.
    last: Step<T>,
    past: Past,
    since: Since,
}

/// What a walk was like when a walker began to look for a group. Always the same if it is not
/// shared.
#[derive(Default, PartialEq, Eq)]
struct Since {
    /// The round.
    generation: i32,
    /// The serial number of the group that was the position. Its address may be another group's by
    /// now.
    position: Option<u64>,
}

/// Returns the next group of the hierarchy below `root` in `order`, or none at the end of a round.
///
/// `prev` is what the call before returned, none in the first call of a round. With a `cookie`, the
/// position is shared, and `prev` only tells whether the walk has begun. `filter` is called under
/// RCU, for groups that may be dying; it must not sleep. `pause` is called whenever RCU was left
/// before the walk arrived: it may sleep if the caller may.
///
/// Does not sleep otherwise.
#[inline]
pub(crate) fn next_with<T: Group, P: SharedPosition<T>>(
    root: &T,
    prev: Option<&T>,
    mut cookie: Option<Cookie<'_, P>>,
    order: impl Order<T>,
    mut filter: impl FnMut(&T) -> Verdict,
    pause: impl FnMut(),
) -> Option<Step<T>> {
    match next_in_section(root, prev, cookie.as_mut(), &order, &mut filter, None) {
        Progress::Arrived(step) => step,
        Progress::Left(resume) => next_from(root, prev, cookie, &order, filter, pause, resume),
    }
}

/// Goes on with a walk that left RCU. Out of line, as most walks arrive before.
#[cold]
fn next_from<T: Group, P: SharedPosition<T>>(
    root: &T,
    prev: Option<&T>,
    mut cookie: Option<Cookie<'_, P>>,
    order: &impl Order<T>,
    mut filter: impl FnMut(&T) -> Verdict,
    mut pause: impl FnMut(),
    mut resume: Option<Resume<T>>,
) -> Option<Step<T>> {
    loop {
        pause();
        match next_in_section(root, prev, cookie.as_mut(), order, &mut filter, resume) {
            Progress::Arrived(step) => return step,
            Progress::Left(at) => resume = at,
        }
    }
}

/// Does what [`next_with`] does, and never sleeps.
pub(crate) fn next<T: Group, P: SharedPosition<T>>(
    root: &T,
    prev: Option<&T>,
    cookie: Option<Cookie<'_, P>>,
    order: impl Order<T>,
    filter: impl FnMut(&T) -> Verdict,
) -> Option<Step<T>> {
    next_with(root, prev, cookie, order, filter, || ())
}

/// What came of one RCU read-side critical section.
enum Progress<T: Group> {
    /// The walk arrived at a group, or at the end of the round.
    Arrived(Option<Step<T>>),
    /// The walk goes on: from here, or from the position.
    Left(Option<Resume<T>>),
}

/// Goes on with a walk in one RCU read-side critical section.
#[inline(always)]
fn next_in_section<T: Group, P: SharedPosition<T>>(
    root: &T,
    prev: Option<&T>,
    cookie: Option<&mut Cookie<'_, P>>,
    order: &impl Order<T>,
    filter: &mut impl FnMut(&T) -> Verdict,
    resume: Option<Resume<T>>,
) -> Progress<T> {
    let guard = rcu::read_lock();

    let Some(cookie) = cookie else {
        let from = match &resume {
            Some(resume) => (Some(resume.last.get(root)), resume.past),
            None => (prev, Past::Group),
        };
        let since = Since::default();
        return match find_next(root, from, order, filter, &guard) {
            Found::Group(step) => Progress::Arrived(Some(step)),
            Found::End => Progress::Arrived(None),
            Found::Skipped(last, past) => Progress::Left(Some(Resume { last, past, since })),
        };
    };

    // A walker joins the current round at its start, and leaves when another one completes it.
    let generation = cookie.shared.generation();
    if prev.is_none() {
        *cookie.generation = generation;
    } else if *cookie.generation != generation {
        return Progress::Arrived(None);
    }
    let pos = cookie.shared.load(&guard);
    let since = || Since {
        generation,
        position: pos.map(T::serial),
    };

    // If another walker moved the position meanwhile, it has looked at what follows.
    let from = match &resume {
        Some(resume) if resume.since == since() => (Some(resume.last.get(root)), resume.past),
        _ => (pos, Past::Group),
    };
    let step = match find_next(root, from, order, filter, &guard) {
        Found::Group(step) => Some(step),
        Found::End => None,
        Found::Skipped(last, past) => {
            let since = since();
            return Progress::Left(Some(Resume { last, past, since }));
        }
    };

    // Only the root or a group with a reference becomes the position, so that the position is
    // taken back before it is freed. If another walker moved it meanwhile, that one visits `step`,
    // and this one goes on from where the other one is.
    if !cookie.shared.advance(pos, step.as_ref()) {
        return Progress::Left(None);
    }
    if step.is_none() {
        cookie.shared.complete_round();

        // A walker that arrives at the very end of a round must see at least one group, and begins
        // another round: but only if the round didn't begin here, because a filter that refuses
        // every group would make that endless.
        if prev.is_none() && pos.is_some() {
            return Progress::Left(None);
        }
    }
    Progress::Arrived(step)
}

/// What [`find_next`] found.
enum Found<T: Group> {
    /// A group that passes the filter.
    Group(Step<T>),
    /// The end of the round.
    End,
    /// Too many groups that don't pass; this was the last of them.
    Skipped(Step<T>, Past),
}

/// Finds the first group after a place that passes the filter and can be referenced.
#[inline]
fn find_next<'g, T: Group>(
    root: &'g T,
    from: (Option<&'g T>, Past),
    order: &impl Order<T>,
    filter: &mut impl FnMut(&T) -> Verdict,
    guard: &'g Guard,
) -> Found<T> {
    let mut next = match from {
        (Some(group), Past::Subtree) => order.next_after_subtree(group, root, guard),
        (pos, _) => order.next(pos, root, guard),
    };
    let mut skipped = 0u32;

    while let Some(group) = next {
        let verdict = if order.passes_over() {
            Verdict::SkipTree
        } else {
            filter(group)
        };
        let past = match verdict {
            Verdict::Visit => match Step::hold(group, root) {
                Some(step) => return Found::Group(step),
                None => Past::Group,
            },
            Verdict::Skip => Past::Group,
            Verdict::SkipTree => Past::Subtree,
        };

        // A group that is gone is no place to go on from; it leaves the hierarchy soon.
        skipped = skipped.wrapping_add(1);
        if skipped >= MAX_SKIPPED {
            if let Some(last) = Step::hold(group, root) {
                return Found::Skipped(last, past);
            }
        }
        next = match past {
            Past::Group => order.next(Some(group), root, guard),
            Past::Subtree => order.next_after_subtree(group, root, guard),
        };
    }
    Found::End
}
