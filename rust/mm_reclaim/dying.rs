// SPDX-License-Identifier: GPL-2.0

//! What becomes of the per-CPU statistics of memcgs that are removed and still referenced.
//!
//! Owns the states of these statistics, and the order of the steps by which a memcg gives its own
//! back: all that could still write them are sent to the next memcg above that is active; when
//! those are done that came before, what is in them goes to the parent; when flushes are done that
//! came before, they are freed. So writers need no test of any state: they follow a pointer, as
//! they do without this. They have a reference, or found the memcg under RCU, in which they write.
//!
//! One task at a time takes all of these steps. It comes by a memcg after all below it that have a
//! reference: these go offline first. The aim, that the statistics of removed memcgs be small, is
//! that of "mm: reduce the memory footprint of dying memory cgroups" (2019), where writers look for
//! a null pointer.

use core::{
    array,
    iter::from_fn,
    ops::Deref,
    ptr, //
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
        path,
        Group, //
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
    /// Nobody writes them, and all that was in them is with the parent; so is what flushes of
    /// those below add from now on.
    Flushed = bindings::memcg_stats_state_MEMCG_STATS_FLUSHED,
    /// They are freed.
    Freed = bindings::memcg_stats_state_MEMCG_STATS_FREED,
}

impl State {
    pub(crate) const NR: usize = bindings::memcg_stats_state_NR_MEMCG_STATS_STATES as usize;
}

/// The right to change states, which only [`drain`] has.
pub(crate) struct Drainer(());

/// A group with per-CPU statistics of its own.
pub(crate) trait HasStats: Group {
    /// A reference on a group that is offline, as are all below it, and may be drained; so were
    /// those below it before, unless they have no reference. Only one task at a time has any in
    /// the same hierarchy.
    type Removed: Deref<Target = Self>;

    /// Returns the state of its statistics as a number; zeroed memory is active.
    fn stats_state(&self) -> u32;

    /// Changes the state of its statistics.
    fn set_stats_state(&self, state: State, _: &Drainer);

    /// Returns how many groups below it were removed and are still there, by their state.
    fn nr_below(&self) -> &[Atomic<i32>; State::NR];

    /// Has the group write the statistics of another one from the end of a grace period on.
    fn redirect_stats(&self, to: &Target<'_, Self>);

    /// Has the next flush look at the group's own statistics on each CPU. Flushes that do so see
    /// all that was written to them.
    fn note_own_stats(group: Quiet<'_, Self>);

    /// Adds what is noted in the group and below it to the statistics of each one's parent. May
    /// sleep.
    fn flush_stats(&self);

    /// Frees the group's own statistics, and has readers find zeros in the place of their sums.
    /// May sleep.
    fn free_own_stats(group: Unused<'_, Self>);
}

fn state_is<T: HasStats>(group: &T, state: State) -> bool {
    group.stats_state() == state as u32
}

fn set_state<T: HasStats>(drainer: &Drainer, group: &T, from: State, to: State) {
    group.set_stats_state(to, drainer);
    for above in path(group).skip(1) {
        above.nr_below()[to as usize].add(1, Relaxed);
        above.nr_below()[from as usize].add(-1, Relaxed);
    }
}

/// A group whose statistics those below it may write.
///
/// # Invariants
///
/// The group is active. Before its statistics are freed, it and all below it that can be found are
/// redirected, and a grace period passes, which those wait for who found others before.
pub(crate) struct Target<'a, T: HasStats>(&'a T);

impl<'a, T: HasStats> Target<'a, T> {
    /// Returns the next active group above.
    fn above(group: &'a T) -> Option<Self> {
        let above = path(group)
            .skip(1)
            .find(|&above| state_is(above, State::Active))?;

        // INVARIANT: It is active, and stays so during this `drain_batch`, which is the only one
        // and has changed the states of its groups before. A later one that frees the statistics
        // redirects those that it can find first, and waits.
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
/// The group was redirected, and all below it that could be found; since then, all RCU read-side
/// critical sections have ended that had begun before, and after that, all flushes.
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
/// The group was quiet, and its own statistics were flushed. Since its state became
/// [`State::Flushed`], which has flushes pass over them and add to the sums of the next one above,
/// a grace period has passed, and a flush has taken what was added to its own sums.
pub(crate) struct Unused<'a, T: HasStats>(&'a T);

impl<T: HasStats> Unused<'_, T> {
    /// Returns the group.
    pub(crate) fn get(&self) -> &T {
        self.0
    }
}

/// How many groups share grace periods: their references are on the stack.
const BATCH: usize = 24;

/// Gives back the statistics of all groups that `next` returns until it has none.
///
/// Takes a few grace periods for each [`BATCH`] of them; may sleep.
pub(crate) fn drain<T: HasStats>(next: impl FnMut() -> Option<T::Removed>) {
    let drainer = Drainer(());
    // `next` may have another group a moment after it had none. Without `fuse`, that one would be
    // in a batch that begins with `None`, which is taken for the end.
    let mut removed = from_fn(next).fuse();

    loop {
        let batch: [Option<T::Removed>; BATCH] = array::from_fn(|_| removed.next());

        if batch[0].is_none() {
            return;
        }
        drain_batch::<T>(&drainer, &batch);
    }
}

fn drain_batch<T: HasStats>(drainer: &Drainer, batch: &[Option<T::Removed>]) {
    let groups = || batch.iter().flatten().map(|group| -> &T { group });

    for group in groups() {
        set_state(drainer, group, State::Active, State::Draining);
    }
    for group in groups() {
        redirect(group);
    }

    // Writers read where to write with preemption disabled.
    synchronize_rcu();
    // A flush that began before may have read too early to see what they wrote, and too late to
    // take it that the group is noted for another one. It holds a spinlock.
    synchronize_rcu();
    for group in groups() {
        // INVARIANT: `redirect` was called for the group, or for one above it in the same batch
        // that it is below of: the group has a reference, and so it could be found.
        T::note_own_stats(Quiet(group));
    }
    flush_all(groups());
    for group in groups() {
        set_state(drainer, group, State::Draining, State::Flushed);
    }

    // Flushes read the state under a spinlock.
    synchronize_rcu();
    // Until then, flushes of those below whose last reference was just gone may have added to the
    // sums. Who adds to them leaves the group noted.
    flush_all(groups());
    for group in groups() {
        // INVARIANT: It was noted when it was quiet, and flushed, before the grace period; and
        // flushed again.
        T::free_own_stats(Unused(group));
        set_state(drainer, group, State::Flushed, State::Freed);
    }
}

/// Flushes groups that are noted; those that follow each other and have the same parent at once.
fn flush_all<'a, T: HasStats + 'a>(groups: impl Iterator<Item = &'a T>) {
    let mut flushed: Option<&T> = None;

    for parent in groups.filter_map(|group| group.parent()) {
        if !flushed.is_some_and(|flushed| ptr::eq(flushed, parent)) {
            parent.flush_stats();
        }
        flushed = Some(parent);
    }
}

/// Sends a group that is not active any more, and all below it, to the next active one above.
///
/// There are no new ones below a group that is offline. Those that have no reference left are sent,
/// too, as long as they can be found: whoever has found one under RCU may still write. Who found
/// one that can't be found any more did so under RCU before.
fn redirect<T: HasStats>(group: &T) {
    let Some(parent) = group.parent() else {
        return;
    };
    // Then the parent is in this batch, and its call finds the group, which has a reference.
    if state_is(parent, State::Draining) {
        return;
    }
    if let Some(target) = Target::above(group) {
        iter::for_each(group, |below| below.redirect_stats(&target), cond_resched);
    }
}
