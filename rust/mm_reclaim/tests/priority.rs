// SPDX-License-Identifier: GPL-2.0

//! Priorities of groups, in hierarchies that are no memcgs.

use core::array;
use kernel::{
    bindings,
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

use super::{
    hierarchy::{
        build,
        build_random,
        every_hierarchy,
        TestGroup, //
    },
    random::Random, //
};
use crate::priority::{
    effective,
    note_fault,
    set,
    settle,
    turn,
    update,
    HasPriority,
    Priority,
    PriorityState,
    Turn,
    Value, //
};

const WORST: i32 = bindings::DEF_PRIORITY as i32;
const WINDOW: usize = 10;

/// The time. Tests run one after the other.
static NOW: Atomic<usize> = Atomic::new(0);

impl HasPriority for TestGroup {
    fn priority(&self) -> &PriorityState {
        &self.priority
    }

    fn now() -> usize {
        NOW.load(Relaxed)
    }

    fn window() -> usize {
        WINDOW
    }
}

fn pass_time(ticks: usize) {
    NOW.store(NOW.load(Relaxed).wrapping_add(ticks), Relaxed);
}

/// Returns a value, or none for a number that is no priority.
fn value(number: i32, while_active: bool) -> Option<Value> {
    Priority::new(number).map(|priority| Value {
        priority,
        while_active,
    })
}

/// Returns the priority that a group must have, by the numbers of all: those on its path that are
/// one bound it.
fn expected(groups: &[TestGroup], numbers: &[i32], at: usize) -> i32 {
    (0..=at)
        .filter(|&above| at < groups[above].end)
        .map(|above| numbers[above])
        .filter(|number| (0..=WORST).contains(number))
        .max()
        .unwrap_or(WORST)
}

fn check(random: &Random, step: u32, groups: &[TestGroup], numbers: &[i32]) -> Result {
    for (at, group) in groups.iter().enumerate() {
        let (found, expected) = (effective(group).get(), expected(groups, numbers, at));

        random.check(
            found == expected,
            step,
            fmt!("group {at} has {found}, not {expected}, of {numbers:?}"),
        )?;
    }
    Ok(())
}

/// Gives all groups every combination of some numbers.
fn every_combination(groups: &[TestGroup], some: &[i32], random: &Random) -> Result {
    let mut numbers = KVec::from_elem(-1, groups.len(), GFP_KERNEL)?;
    let mut chosen = KVec::from_elem(0, groups.len(), GFP_KERNEL)?;

    for step in 0.. {
        for at in 0..groups.len() {
            let number = some[chosen[at]];

            if number != numbers[at] {
                numbers[at] = number;
                set(&groups[at], value(number, false));
            }
        }
        check(random, step, groups, &numbers)?;

        // As an odometer goes on.
        let Some(at) = chosen.iter().position(|&one| one + 1 < some.len()) else {
            break;
        };
        chosen[..at].fill(0);
        chosen[at] += 1;
    }
    Ok(())
}

/// What the series of 2019 did, with the words of its description.
fn naive_turn(reclaim: i32, group: i32) -> Option<i32> {
    let mut scanned_with = None;
    let mut priority = WORST;

    // As reclaim goes down, from the one at which the group is reached on.
    for now in (reclaim..=WORST).rev() {
        if group >= now {
            scanned_with = Some(priority);
            priority -= 1;
        }
    }
    scanned_with
}

#[kunit_tests(mm_reclaim_priority)]
mod tests {
    use super::*;

    /// Every priority of reclaim, and of a group.
    #[test]
    fn rule() -> Result {
        for reclaim in 0..=WORST {
            for group in 0..=WORST {
                let found = match turn(reclaim, Priority::new(group).ok_or(EINVAL)?) {
                    Turn::Pass => None,
                    Turn::Scan(priority) => Some(priority),
                };

                assert_eq!(found, naive_turn(reclaim, group));
            }
        }
        Ok(())
    }

    /// Nobody is spared for ever, who has no value never, and nobody is scanned harder than he
    /// would be without values.
    #[test]
    fn bounds() -> Result {
        for group in 0..=WORST {
            let group = Priority::new(group).ok_or(EINVAL)?;

            assert!(turn(0, group) != Turn::Pass);
            for reclaim in 0..=WORST {
                assert_eq!(turn(reclaim, Priority::DEFAULT), Turn::Scan(reclaim));
                if let Turn::Scan(priority) = turn(reclaim, group) {
                    assert!((reclaim..=WORST).contains(&priority));
                }
            }
        }
        Ok(())
    }

    /// Numbers that are no priorities.
    #[test]
    fn numbers() {
        for number in [i32::MIN, -1, WORST + 1, 0x100, i32::MAX] {
            assert!(Priority::new(number).is_none());
        }
    }

    /// Every hierarchy of up to five groups, with every combination of some values.
    #[test]
    fn small_hierarchies() -> Result {
        let random = Random::new("small_hierarchies");

        every_hierarchy(5, |groups| {
            every_combination(&groups, &[-1, 0, 6, WORST], &random)
        })
    }

    /// Every hierarchy of up to three groups, with every combination of all values, and of none.
    #[test]
    fn all_values() -> Result {
        let random = Random::new("all_values");
        let all: [i32; WORST as usize + 2] = array::from_fn(|at| at as i32 - 1);

        every_hierarchy(3, |groups| every_combination(&groups, &all, &random))
    }

    /// Larger ones, where values come and go, and groups appear.
    #[test]
    fn random_hierarchies() -> Result {
        let mut random = Random::new("random_hierarchies");

        for _ in 0..20 {
            let groups = build_random(&mut random, 150)?;
            let mut numbers = KVec::from_elem(-1, groups.len(), GFP_KERNEL)?;

            for step in 0..100 {
                let at = random.below(groups.len() as u32) as usize;

                numbers[at] = random.below(WORST as u32 + 2) as i32 - 1;
                set(&groups[at], value(numbers[at], random.below(2) == 0));
                update(&groups[random.below(groups.len() as u32) as usize]);
                check(&random, step, &groups, &numbers)?;
            }
        }
        Ok(())
    }

    /// One that stands for what it is, and those that need activity, below one that has none.
    #[test]
    fn idle_and_active() -> Result {
        let groups = build(&[0, 1, 2, 2])?;
        let [_, class, busy, idle] = &groups[..] else {
            return Err(EINVAL);
        };
        let found = || [class, busy, idle].map(|group| effective(group).get());

        set(class, value(4, false));
        set(busy, value(2, true));
        set(idle, value(6, true));
        // Nothing is known yet.
        assert_eq!(found(), [4, 4, 6]);
        pass_time(WINDOW);
        assert_eq!(found(), [4, 4, 6]);

        note_fault(busy);
        pass_time(1);
        // One that wants nothing while it is idle does not get what the class would grant.
        assert_eq!(found(), [4, 4, WORST]);
        set(class, None);
        assert_eq!(found(), [WORST, 2, WORST]);

        note_fault(idle);
        assert_eq!(found(), [WORST, 2, 6]);
        pass_time(WINDOW);
        assert_eq!(found(), [WORST, WORST, 6]);
        pass_time(1);
        assert_eq!(found(), [WORST, WORST, WORST]);
        Ok(())
    }

    /// One bounds those below it, which are idle when it is, and keep it active.
    #[test]
    fn idle_above() -> Result {
        let groups = build(&[0, 1, 2, 3])?;
        let [_, top, middle, bottom] = &groups[..] else {
            return Err(EINVAL);
        };

        set(top, value(3, true));
        set(bottom, value(5, false));
        assert_eq!(effective(bottom).get(), 5);
        assert_eq!(effective(middle).get(), 3);
        pass_time(WINDOW + 1);
        assert_eq!(effective(bottom).get(), WORST);
        assert_eq!(effective(middle).get(), WORST);
        note_fault(bottom);
        pass_time(WINDOW);
        assert_eq!(effective(bottom).get(), 5);
        assert_eq!(effective(middle).get(), 3);
        Ok(())
    }

    /// What is not scanned somewhere is owed, and what is scanned beyond its part was owed: as long
    /// as sizes have no rest, nothing is lost.
    #[test]
    fn debts() -> Result {
        let scanned = |turn, size: usize| match turn {
            Turn::Pass => 0,
            Turn::Scan(priority) => size >> priority,
        };
        let mut paid = 0;

        for reclaim in 0..=WORST {
            for first in 0..=WORST {
                for second in 0..=WORST {
                    let (mut owed, mut given, mut due) = (0, 0, 0);

                    for (number, size) in [(first, 3 << 24), (second, 1 << 24), (WORST, 2 << 24)] {
                        let group = Priority::new(number).ok_or(EINVAL)?;
                        let (turn, left) = settle(reclaim, group, size, owed);

                        if let Turn::Scan(priority) = turn {
                            assert!(priority >= (reclaim - 1).max(reclaim.min(1)));
                            paid += usize::from(priority < reclaim);
                        }
                        owed = left;
                        given += scanned(turn, size);
                        due += size >> reclaim;
                    }
                    assert_eq!(given + owed, due);
                }
            }
        }
        assert!(paid > 0);
        Ok(())
    }

    /// Nobody pays who has nothing, nor for what is less than his part.
    #[test]
    fn no_debts() {
        for reclaim in 0..=WORST {
            for (size, owed) in [(0, 1000), (1 << 20, 0), (1 << 20, (1 << 20 >> reclaim) - 1)] {
                assert_eq!(
                    settle(reclaim, Priority::DEFAULT, size, owed),
                    (Turn::Scan(reclaim), owed)
                );
            }
        }
        assert_eq!(
            settle(WORST, Priority::DEFAULT, 1 << 20, usize::MAX),
            (Turn::Scan(WORST - 1), usize::MAX - (1 << 20 >> WORST))
        );
    }
}
