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
    iter::successors,
    ops::{
        ControlFlow,
        Deref, //
    },
    ptr, //
};
use kernel::sync::{
    atomic::{
        Atomic,
        Relaxed, //
    },
    rcu::{
        self,
        Guard, //
    }, //
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

/// What has a place in a hierarchy.
pub(crate) trait HasParent: Sized {
    /// Returns the parent, which exists as long as `self` does.
    fn parent(&self) -> Option<&Self>;
}

/// Iterates over a group and its ancestors.
pub(crate) fn path<G: HasParent>(group: &G) -> impl Iterator<Item = &G> {
    successors(Some(group), |group| group.parent())
}

/// A group in a hierarchy that may change while it is walked.
///
/// A `&Self` says that the group is valid, and no more: under RCU, it may have no reference left.
/// The only way to a reference is [`try_get`](Self::try_get).
pub(crate) trait Group: HasParent {
    /// A reference that keeps a group.
    type Ref: Deref<Target = Self>;

    /// Returns what follows `pos` in a pre-order walk of the hierarchy below `root`, which begins
    /// with `root` itself (`pos` is none). `pos` may have left the hierarchy.
    ///
    /// If the verdict on `pos` was [`SkipTree`](Verdict::SkipTree), never enters its subtree, also
    /// if that grows meanwhile.
    fn next<'g>(
        pos: Option<&'g Self>,
        verdict: Verdict,
        root: &'g Self,
        guard: &'g Guard,
    ) -> Option<&'g Self>;

    /// Gets a reference, unless the group is gone.
    fn try_get(&self) -> Option<Self::Ref>;

    /// Returns a number that no other group has, nor will have when this one is freed.
    fn serial(&self) -> u64;
}

/// The order in which a walk visits the groups of a hierarchy.
pub(crate) trait Order<T: Group> {
    /// Returns what follows `pos`, or the first group if that is none, as [`Group::next`] does.
    fn next<'g>(
        &self,
        pos: Option<&'g T>,
        verdict: Verdict,
        root: &'g T,
        guard: &'g Guard,
    ) -> Option<&'g T> {
        T::next(pos, verdict, root, guard)
    }

    /// Returns whether the walk does not visit the group that the order returned last, nor its
    /// descendants, whatever the filter says.
    fn passes_over(&self) -> bool {
        false
    }
}

/// Each group before its descendants, and these before the next sibling.
#[derive(Clone, Copy)]
pub(crate) struct PreOrder;

impl<T: Group> Order<T> for PreOrder {}

/// The position of a shared walk.
pub(crate) trait SharedPosition<T: Group> {
    /// Returns the number of rounds that were completed.
    fn generation(&self) -> &Atomic<i32>;

    /// Returns the group visited last, none at the start of a round.
    fn load<'g>(&'g self, guard: &'g Guard) -> Option<&'g T>;

    /// Moves the position to what a walk arrived at, or to the start of a round, if it is still at
    /// `from`, and returns whether it was.
    ///
    /// A bare reference to a group is not enough: the position is taken back when the last
    /// reference on its group is given up, which is too late once that has happened.
    fn advance(&self, from: Option<&T>, to: Option<&Step<T>>) -> bool;
}

/// The position of walks that are never shared.
pub(crate) enum Alone {}

impl<T: Group> SharedPosition<T> for Alone {
    fn generation(&self) -> &Atomic<i32> {
        match *self {}
    }

    fn load<'g>(&'g self, _guard: &'g Guard) -> Option<&'g T> {
        match *self {}
    }

    fn advance(&self, _from: Option<&T>, _to: Option<&Step<T>>) -> bool {
        match *self {}
    }
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

/// Where a walk goes on in its next RCU read-side critical section.
struct Resume<T: Group> {
    /// The group that was skipped last.
    last: Step<T>,
    verdict: Verdict,
    /// The round; always the same in a walk of one's own.
    generation: i32,
    /// The serial number of the group that was the position then. Its address may be another
    /// group's by now.
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
pub(crate) fn next<T: Group, P: SharedPosition<T>>(
    root: &T,
    prev: Option<&T>,
    mut cookie: Option<Cookie<'_, P>>,
    order: impl Order<T>,
    mut filter: impl FnMut(&T) -> Verdict,
    pause: impl FnMut(),
) -> Option<Step<T>> {
    match next_in_section(root, prev, cookie.as_mut(), &order, &mut filter, None) {
        ControlFlow::Break(found) => found,
        ControlFlow::Continue(resume) => go_on(root, prev, cookie, order, filter, pause, resume),
    }
}

/// Does what is left of [`next`] after a section in which the walk did not arrive. Out of line, so
/// that the first section knows that there is none before it.
#[cold]
#[inline(never)]
fn go_on<T: Group, P: SharedPosition<T>>(
    root: &T,
    prev: Option<&T>,
    mut cookie: Option<Cookie<'_, P>>,
    order: impl Order<T>,
    mut filter: impl FnMut(&T) -> Verdict,
    mut pause: impl FnMut(),
    mut resume: Option<Resume<T>>,
) -> Option<Step<T>> {
    loop {
        pause();
        match next_in_section(root, prev, cookie.as_mut(), &order, &mut filter, resume) {
            ControlFlow::Break(found) => return found,
            ControlFlow::Continue(at) => resume = at,
        }
    }
}

/// Calls a function with a group and each one below it, parents first, under RCU. They may be
/// dying. `visit` must not sleep; `pause` is called as in [`next`].
pub(crate) fn for_each<T: Group>(root: &T, mut visit: impl FnMut(&T), pause: impl FnMut()) {
    let visit = |group: &T| {
        visit(group);
        Verdict::Skip
    };

    next(
        root,
        None,
        None::<Cookie<'_, Alone>>,
        PreOrder,
        visit,
        pause,
    );
}

/// Goes on with a walk in one RCU read-side critical section. Breaks with the group at which it
/// arrived, or none at the end of the round; or else continues: from there, or from the position.
#[inline(always)]
fn next_in_section<T: Group, P: SharedPosition<T>>(
    root: &T,
    prev: Option<&T>,
    mut cookie: Option<&mut Cookie<'_, P>>,
    order: &impl Order<T>,
    filter: &mut impl FnMut(&T) -> Verdict,
    resume: Option<Resume<T>>,
) -> ControlFlow<Option<Step<T>>, Option<Resume<T>>> {
    let guard = rcu::read_lock();
    let (mut pos, mut generation) = (prev, 0);

    if let Some(cookie) = &mut cookie {
        // A walker joins the current round at its start, and leaves when another one completes it.
        generation = cookie.shared.generation().load(Relaxed);
        if prev.is_none() {
            *cookie.generation = generation;
        } else if *cookie.generation != generation {
            return ControlFlow::Break(None);
        }
        pos = cookie.shared.load(&guard);
    }
    let position = || pos.map(T::serial);

    // If another walker moved the position meanwhile, it has looked at what follows.
    let (from, verdict) = match &resume {
        Some(resume) if resume.generation == generation && resume.position == position() => {
            (Some(resume.last.get(root)), resume.verdict)
        }
        _ => (pos, Verdict::Visit),
    };
    let step = match find_next(root, from, verdict, order, filter, &guard) {
        ControlFlow::Break(step) => step,
        ControlFlow::Continue((last, verdict)) => {
            let position = position();
            return ControlFlow::Continue(Some(Resume {
                last,
                verdict,
                generation,
                position,
            }));
        }
    };

    if let Some(cookie) = cookie {
        // Only the root or a group with a reference becomes the position, so that the position is
        // taken back before it is freed. If another walker moved it meanwhile, that one visits
        // `step`, and this one goes on from where the other one is.
        if !cookie.shared.advance(pos, step.as_ref()) {
            return ControlFlow::Continue(None);
        }
        if step.is_none() {
            cookie.shared.generation().add(1, Relaxed);

            // A walker that arrives at the very end of a round must see at least one group, and
            // begins another round: but only if the round didn't begin here, because a filter that
            // refuses every group would make that endless.
            if prev.is_none() && pos.is_some() {
                return ControlFlow::Continue(None);
            }
        }
    }
    ControlFlow::Break(step)
}

/// Finds the first group after `pos`, on which there was a verdict, that passes the filter and can
/// be referenced. Breaks with that, or none at the end of the round. Continues after the last one
/// if there were too many that don't pass.
fn find_next<'g, T: Group>(
    root: &'g T,
    mut pos: Option<&'g T>,
    mut verdict: Verdict,
    order: &impl Order<T>,
    filter: &mut impl FnMut(&T) -> Verdict,
    guard: &'g Guard,
) -> ControlFlow<Option<Step<T>>, (Step<T>, Verdict)> {
    let mut skipped = 0u32;

    while let Some(group) = order.next(pos, verdict, root, guard) {
        verdict = if order.passes_over() {
            Verdict::SkipTree
        } else {
            filter(group)
        };
        if verdict == Verdict::Visit {
            if let Some(step) = Step::hold(group, root) {
                return ControlFlow::Break(Some(step));
            }
        }

        // A group that is gone is no place to go on from; it leaves the hierarchy soon.
        skipped = skipped.wrapping_add(1);
        if skipped >= MAX_SKIPPED {
            if let Some(last) = Step::hold(group, root) {
                return ControlFlow::Continue((last, verdict));
            }
        }
        pos = Some(group);
    }
    ControlFlow::Break(None)
}
