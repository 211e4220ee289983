// SPDX-License-Identifier: GPL-2.0

//! The per-CPU statistics of groups that are removed, in hierarchies that are no memcgs.

use core::cell::Cell;
use kernel::{
    alloc::flags::GFP_KERNEL,
    prelude::*,
    sync::{
        aref::ARef,
        atomic::{
            Atomic,
            Relaxed, //
        }, //
    }, //
};

use super::{
    hierarchy::{
        build_random,
        every_hierarchy,
        TestGroup, //
    },
    random::Random, //
};
use crate::{
    dying::{
        drain,
        Drainer,
        HasStats,
        Quiet,
        State,
        Target,
        Unused, //
    },
    iter::path,
};

/// The statistics of a group, which are one number.
pub(super) struct TestStats {
    state: Atomic<u32>,
    below: [Atomic<i32>; State::NR],
    /// Whether the group was removed.
    is_removed: Cell<bool>,
    /// The place of the group whose own ones this one writes.
    target: Cell<usize>,
    /// What was written to its own, and not flushed.
    own: Cell<u32>,
    /// Whether a flush looks at that.
    is_noted: Cell<bool>,
    /// What came from below, and was not flushed.
    pending: Cell<u32>,
    /// What went wrong.
    fault: Cell<Option<&'static str>>,
}

impl TestStats {
    pub(super) const fn new(at: usize) -> Self {
        Self {
            state: Atomic::new(State::Active as u32),
            below: [const { Atomic::new(0) }; State::NR],
            is_removed: Cell::new(false),
            target: Cell::new(at),
            own: Cell::new(0),
            is_noted: Cell::new(false),
            pending: Cell::new(0),
            fault: Cell::new(None),
        }
    }

    fn is(&self, state: State) -> bool {
        self.state.load(Relaxed) == state as u32
    }

    fn receive(&self, flushed: u32) {
        self.pending.set(self.pending.get() + flushed);
    }

    fn expect(&self, condition: bool, fault: &'static str) {
        if !condition {
            self.fault.set(Some(fault));
        }
    }
}

impl TestGroup {
    /// Returns the next group above that flushes add to, or the first one.
    fn next_flushed(&self) -> &Self {
        path(self)
            .skip(1)
            .find(|above| !above.stats.is(State::Flushed) && !above.stats.is(State::Freed))
            .unwrap_or(self)
    }
}

impl HasStats for TestGroup {
    type Removed = ARef<Self>;

    fn stats_state(&self) -> u32 {
        self.stats.state.load(Relaxed)
    }

    fn set_stats_state(&self, state: State, _: &Drainer) {
        // A flush that began before, of those below that have no reference.
        if state == State::Flushed {
            for below in self.all()[self.at + 1..self.end].iter() {
                if below.stats.is(State::Active) && below.next_flushed().at == self.at {
                    self.stats.receive(below.stats.own.take());
                    self.stats.is_noted.set(true);
                }
            }
        }
        self.stats.state.store(state as u32, Relaxed);
    }

    fn nr_below(&self) -> &[Atomic<i32>; State::NR] {
        &self.stats.below
    }

    fn redirect_stats(&self, to: &Target<'_, Self>) {
        let to = to.get();

        self.stats.expect(to.at < self.at, "sent downwards");
        self.stats.expect(
            !to.stats.is_removed.get() || to.stats.is(State::Active),
            "sent to one that is not active",
        );
        self.stats.target.set(to.at);
    }

    fn note_own_stats(group: Quiet<'_, Self>) {
        let (group, stats) = (group.get(), &group.get().stats);
        let is_written = group
            .all()
            .iter()
            .any(|other| other.stats.target.get() == group.at);

        stats.expect(stats.is(State::Draining), "noted in a wrong state");
        stats.expect(!is_written, "noted while others write it");
        for noted in path(group) {
            noted.stats.is_noted.set(true);
        }
    }

    fn flush_stats(&self) {
        for group in self.all()[self.at.max(1)..self.end].iter().rev() {
            let stats = &group.stats;

            if stats.is_noted.take() {
                let flushed = stats.own.take() + stats.pending.take();

                group.next_flushed().stats.receive(flushed);
            }
        }
    }

    fn free_own_stats(group: Unused<'_, Self>) {
        let stats = &group.get().stats;

        stats.expect(stats.is(State::Flushed), "freed in a wrong state");
        stats.expect(stats.own.get() == 0, "something was lost");
        stats.expect(
            stats.pending.get() == 0,
            "something that came from below was lost",
        );
    }
}

/// Writes to the statistics that each group writes, and returns how much.
fn write(groups: &[TestGroup]) -> u32 {
    for group in groups {
        let target = &groups[group.stats.target.get()].stats;

        group.stats.expect(
            !target.is(State::Flushed) && !target.is(State::Freed),
            "writes what is not written any more",
        );
        target.own.set(target.own.get() + 1);
    }
    groups.len() as u32
}

/// Checks that what was written is still there, and that groups are counted.
fn check(random: &Random, groups: &[TestGroup], written: u32) -> Result {
    let mut found = 0;

    for group in groups {
        let stats = &group.stats;
        if let Some(fault) = stats.fault.get() {
            random.check(false, group.at as u32, fmt!("{fault}"))?;
        }
        found += stats.own.get() + stats.pending.get();
        for state in 0..State::NR {
            let nr = groups[group.at + 1..group.end]
                .iter()
                .filter(|below| below.stats.is_removed.get())
                .filter(|below| below.stats.state.load(Relaxed) == state as u32)
                .count();
            let counted = stats.below[state].load(Relaxed);

            random.check(
                counted == nr as i32,
                group.at as u32,
                fmt!("{counted} below are in state {state}, and not {nr}"),
            )?;
        }
    }
    random.check(found == written, 0, fmt!("{found} are left of {written}"))
}

/// Removes all groups but the first one, and drains them now and then. Those that are dying have
/// no reference left by then.
fn remove_all(random: &mut Random, groups: &[TestGroup]) -> Result {
    let mut removed = KVec::with_capacity(groups.len(), GFP_KERNEL)?;
    let mut taken = 0;
    let mut written = 0;

    // So all groups below one are removed before.
    for at in (1..groups.len()).rev() {
        groups[at].stats.is_removed.set(true);
        for above in path(&groups[at]).skip(1) {
            above.stats.below[State::Active as usize].add(1, Relaxed);
        }
        removed.push(at, GFP_KERNEL)?;
        written += write(groups);
        while taken < removed.len() && (at == 1 || random.below(3) == 0) {
            let next = || {
                // The time of the next one has not come, and may have a moment later.
                if random.below(32) == 0 {
                    return None;
                }
                while let Some(&at) = removed.get(taken) {
                    taken += 1;
                    if !groups[at].dying {
                        return Some(ARef::from(&groups[at]));
                    }
                }
                None
            };
            drain::<TestGroup>(next);
            written += write(groups);
            check(random, groups, written)?;
        }
    }

    for group in &groups[1..] {
        let is_drained = group.stats.is(State::Freed);

        random.check(
            is_drained != group.dying,
            group.at as u32,
            fmt!("drained: {is_drained}"),
        )?;
    }
    Ok(())
}

#[kunit_tests(mm_reclaim_dying)]
mod tests {
    use super::*;

    #[test]
    fn every_small_hierarchy() -> Result {
        let mut random = Random::new("every_small_hierarchy");

        every_hierarchy(6, |mut groups| {
            for group in groups.iter_mut().skip(1) {
                group.dying = random.below(4) == 0;
            }
            remove_all(&mut random, &groups)
        })
    }

    /// More than share grace periods.
    #[test]
    fn many_groups() -> Result {
        let mut random = Random::new("many_groups");

        for _ in 0..20 {
            let mut groups = build_random(&mut random, 100)?;

            for group in groups.iter_mut().skip(1) {
                group.dying = random.below(8) == 0;
            }
            remove_all(&mut random, &groups)?;
        }
        Ok(())
    }
}
