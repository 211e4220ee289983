// SPDX-License-Identifier: GPL-2.0

//! What becomes of the per-CPU statistics of memcgs that are removed and still referenced.
//!
//! Owns the states of these statistics, and the order of the steps by which a memcg gives its own
//! back: all that could still write them are sent to the next memcg above that is active; when
//! those are done that came before, what is in them goes to the parent; when flushes are done that
//! came before, they are freed. So writers need no test of any state: they follow a pointer, as
//! they do without this.
//!
//! One task at a time takes all of these steps. It comes by a memcg after all below it: these go
//! offline first. The aim, that the statistics of removed memcgs be small, is that of "mm: reduce
//! the memory footprint of dying memory cgroups" (2019), where writers look for a null pointer.

use core::{
    array,
    iter::successors, //
};
use kernel::{
    bindings,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        rcu::synchronize_rcu, //
    }, //
};

use crate::{
    iter::{
        self,
        Alone,
        Cookie,
        Group,
        PreOrder,
        Verdict, //
    },
    sys::cond_resched, //
};

/// What became of the per-CPU statistics of a memcg.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum State {
    /// It may write them; so may all below it that are not active.
    Active = bindings::memcg_stats_state_MEMCG_STATS_ACTIVE,
    /// Those that could write them have been sent to the next memcg above that is active.
    Draining = bindings::memcg_stats_state_MEMCG_STATS_DRAINING,
    /// Nobody writes them, and all that was in them is with the parent.
    Flushed = bindings::memcg_stats_state_MEMCG_STATS_FLUSHED,
    /// They are freed.
    Freed = bindings::memcg_stats_state_MEMCG_STATS_FREED,
}

impl State {
    pub(crate) const NR: usize = bindings::memcg_stats_state_NR_MEMCG_STATS_STATES as usize;
}

/// A group with per-CPU statistics of its own.
pub(crate) trait HasStats: Group {
    /// Returns the state of its statistics, which is active in zeroed memory.
    fn stats_state(&self) -> &Atomic<u32>;

    /// Returns how many groups below it were removed and are still there, by their state.
    fn nr_below(&self) -> &[Atomic<i32>; State::NR];

    /// Returns the parent, which exists as long as `self` does.
    fn parent(&self) -> Option<&Self>;

    /// Has the group write the statistics of another one from the end of a grace period on.
    fn redirect_stats(&self, to: &Target<'_, Self>);

    /// Adds what is in the group's own statistics to its parent's. May sleep.
    fn flush_own_stats(group: Quiet<'_, Self>);

    /// Frees the group's own statistics.
    fn free_own_stats(group: Unused<'_, Self>);
}

fn state_is<T: HasStats>(group: &T, state: State) -> bool {
    group.stats_state().load(Relaxed) == state as u32
}

fn set_state<T: HasStats>(group: &T, from: State, to: State) {
    group.stats_state().store(to as u32, Relaxed);
    for above in successors(group.parent(), |above| above.parent()) {
        above.nr_below()[from as usize].add(-1, Relaxed);
        above.nr_below()[to as usize].add(1, Relaxed);
    }
}

/// A group whose statistics those below it may write.
///
/// # Invariants
///
/// The group is active. Before its statistics are freed, it and all below it are redirected, and a
/// grace period passes.
pub(crate) struct Target<'a, T: HasStats>(&'a T);

impl<'a, T: HasStats> Target<'a, T> {
    /// Returns the next active group above.
    fn above(group: &'a T) -> Option<Self> {
        let mut above = group.parent()?;

        while !state_is(above, State::Active) {
            above = above.parent()?;
        }
        // INVARIANT: Only `drain_batch` changes the state, in that order, and is not done before
        // what its caller does with the target.
        Some(Self(above))
    }

    /// Returns the group.
    pub(crate) fn get(&self) -> &T {
        self.0
    }
}

/// A group whose own statistics nobody writes any more.
///
/// # Invariants
///
/// Since the group and all below it were redirected, a grace period has passed.
pub(crate) struct Quiet<'a, T: HasStats>(&'a T);

impl<T: HasStats> Quiet<'_, T> {
    /// Returns the group.
    pub(crate) fn get(&self) -> &T {
        self.0
    }
}

/// A group whose own statistics nobody uses any more.
///
/// # Invariants
///
/// The group was quiet. Since its state became [`State::Flushed`], after which flushes pass over
/// its own statistics, a grace period has passed.
pub(crate) struct Unused<'a, T: HasStats>(&'a T);

impl<T: HasStats> Unused<'_, T> {
    /// Returns the group.
    pub(crate) fn get(&self) -> &T {
        self.0
    }
}

/// How many groups share grace periods: their references are on the stack.
const BATCH: usize = 32;

/// Gives back the statistics of all groups that `next` returns until there are no more.
///
/// These must be offline, and all below them. Takes a few grace periods for each [`BATCH`] of them;
/// may sleep. Must not run twice at the same time.
pub(crate) fn drain<T: HasStats>(mut next: impl FnMut() -> Option<T::Ref>) {
    loop {
        let batch: [Option<T::Ref>; BATCH] = array::from_fn(|_| next());

        if batch[0].is_none() {
            return;
        }
        drain_batch::<T>(&batch);
    }
}

fn drain_batch<T: HasStats>(batch: &[Option<T::Ref>]) {
    let groups = || batch.iter().flatten().map(|group| -> &T { group });

    for group in groups() {
        set_state(group, State::Active, State::Draining);
    }
    for group in groups() {
        redirect(group);
    }

    // Writers read where to write with preemption disabled.
    synchronize_rcu();
    for group in groups() {
        // INVARIANT: It was redirected before the grace period.
        T::flush_own_stats(Quiet(group));
        set_state(group, State::Draining, State::Flushed);
    }

    // Flushes read the state under a spinlock.
    synchronize_rcu();
    for group in groups() {
        // INVARIANT: It was quiet, and flushed before the grace period.
        T::free_own_stats(Unused(group));
        set_state(group, State::Flushed, State::Freed);
    }
}

/// Sends a group that is not active any more, and all below it, to the next active one above.
///
/// There are no new ones below a group that is offline. Those that have no reference left are sent,
/// too, as long as they can be found: whoever has found one under RCU may still write.
fn redirect<T: HasStats>(group: &T) {
    let Some(parent) = group.parent() else {
        return;
    };
    // Then it is done, or will be, with the parent.
    if state_is(parent, State::Draining) {
        return;
    }
    if let Some(target) = Target::above(group) {
        let send = |below: &T| {
            below.redirect_stats(&target);
            Verdict::Skip
        };

        iter::next(
            group,
            None,
            None::<Cookie<'_, Alone>>,
            PreOrder,
            send,
            cond_resched,
        );
    }
}
