// SPDX-License-Identifier: GPL-2.0

//! Soft limits.

use core::cell::Cell;
use kernel::{
    alloc::flags::GFP_KERNEL,
    prelude::*, //
};

use super::{
    hierarchy::{
        build,
        next_hierarchy,
        walk,
        TestGroup,
        TestPosition, //
    },
    random::Random, //
};
use crate::excess::{
    close,
    has_first_pass,
    update,
    verdict,
    Excess,
    FirstPass,
    Limited, //
};

const LARGEST: usize = 7;

/// Returns whether the group or one of its ancestors up to `root` exceeds its limit.
fn is_taken_from(groups: &[TestGroup], root: usize, at: usize) -> bool {
    (root..=at).any(|above| groups[above].exceeds.get() && at < groups[above].end)
}

/// Compares marks, counts and a walk below each group with what `exceeds` says.
fn check(random: &Random, step: u32, groups: &[TestGroup]) -> Result {
    for (root, group) in groups.iter().enumerate() {
        let below = root + 1..group.end;
        let nr = below.filter(|&at| groups[at].exceeds.get()).count() as isize;
        let found = group.excess().nr_below();
        random.check(
            found == nr,
            step,
            fmt!("group {root} counts {found} below, not {nr}"),
        )?;
        random.check(
            group.excess().is_marked() == group.exceeds.get(),
            step,
            fmt!("the mark of group {root}"),
        )?;

        let expected = (root..group.end).filter(|&at| is_taken_from(groups, root, at));
        let is_empty = expected.clone().next().is_none();
        random.check(
            has_first_pass(group) != is_empty,
            step,
            fmt!("the first pass below group {root}"),
        )?;
        let position = TestPosition::new();
        for shared in [None, Some(&position)] {
            let visited = walk(groups, root, shared, |other| verdict(other, group))?;
            random.check(
                visited.iter().copied().eq(expected.clone()),
                step,
                fmt!("below group {root}: {visited:?}"),
            )?;
        }
    }
    Ok(())
}

fn set_excess(groups: &[TestGroup], at: usize, exceeds: bool) {
    groups[at].exceeds.set(exceeds);
    update(&groups[at]);
}

/// In Gray code order, so that each step changes the excess of one group.
fn every_combination(random: &Random, groups: &[TestGroup]) -> Result {
    check(random, 0, groups)?;
    for step in 1..1u32 << groups.len() {
        let at = step.trailing_zeros() as usize;

        set_excess(groups, at, !groups[at].exceeds.get());
        check(random, step, groups)?;
    }
    Ok(())
}

/// A group whose usage crosses its limit while somebody looks at it.
struct Restless<'a> {
    parent: Option<&'a Self>,
    excess: Excess,
    /// Whether it will be found to exceed its limit, the lowest bit first.
    script: Cell<u32>,
}

impl<'a> Restless<'a> {
    fn new(parent: Option<&'a Self>) -> Self {
        Self {
            parent,
            excess: Excess::new(),
            script: Cell::new(0),
        }
    }
}

impl Limited for Restless<'_> {
    fn excess(&self) -> &Excess {
        &self.excess
    }

    fn exceeds(&self) -> bool {
        let script = self.script.get();

        self.script.set(script >> 1);
        script & 1 != 0
    }

    fn parent(&self) -> Option<&Self> {
        self.parent
    }
}

#[kunit_tests(mm_reclaim_excess)]
mod tests {
    use super::*;

    #[test]
    fn every_excess_in_every_small_hierarchy() -> Result {
        let random = Random::new("every_excess_in_every_small_hierarchy");

        for size in 1..=LARGEST {
            let mut depths = KVec::from_elem(1, size, GFP_KERNEL)?;
            depths[0] = 0;
            loop {
                every_combination(&random, &build(&depths)?)?;
                if !next_hierarchy(&mut depths) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// What was charged to a child puts its parent in excess, too.
    #[test]
    fn ancestors_are_looked_at() -> Result {
        let random = Random::new("ancestors_are_looked_at");
        let groups = build(&[0, 1, 2, 1])?;

        groups[1].exceeds.set(true);
        update(&groups[2]);
        check(&random, 0, &groups)?;
        groups[1].exceeds.set(false);
        update(&groups[2]);
        check(&random, 1, &groups)
    }

    /// Whoever changed something just before the mark is changed found nothing to do.
    #[test]
    fn looks_again_after_marking() -> Result {
        let random = Random::new("looks_again_after_marking");
        let root = Restless::new(None);
        let group = Restless::new(Some(&root));
        let mut expected = false;

        for script in 0..1 << 4 {
            group.script.set(script);
            update(&group);

            // Up to the first look that finds the mark right.
            for bit in 0..4 {
                let exceeds = script >> bit & 1 != 0;
                if exceeds == expected {
                    break;
                }
                expected = exceeds;
            }
            random.check(
                group.excess.is_marked() == expected,
                script,
                fmt!("the mark is not {expected}"),
            )?;
            random.check(
                root.excess.nr_below() == isize::from(expected),
                script,
                fmt!("{} counted", root.excess.nr_below()),
            )?;
        }
        Ok(())
    }

    #[test]
    fn closed_is_never_marked() -> Result {
        let random = Random::new("closed_is_never_marked");
        let groups = build(&[0, 1, 2])?;

        set_excess(&groups, 2, true);
        close(&groups[2]);
        random.check(!groups[2].excess().is_marked(), 0, fmt!("marked"))?;
        update(&groups[2]);
        groups[2].exceeds.set(false);
        check(&random, 1, &groups)
    }

    #[test]
    fn second_pass() -> Result {
        let random = Random::new("second_pass");

        for priority in 0..=12 {
            for (scanned, reclaimed, is_full_walk, expected) in [
                (0, 0, false, true),
                (0, 0, true, true),
                (32, 0, false, priority < 10),
                (32, 0, true, true),
                (32, 1, false, false),
                (32, 1, true, false),
            ] {
                let pass = FirstPass {
                    scanned,
                    reclaimed,
                    priority,
                    is_full_walk,
                };
                random.check(
                    pass.is_in_vain() == expected,
                    priority as u32,
                    fmt!("{scanned} scanned, {reclaimed} reclaimed, {is_full_walk}"),
                )?;
            }
        }
        Ok(())
    }
}
