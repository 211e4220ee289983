// SPDX-License-Identifier: GPL-2.0

//! Soft limits.

use core::cell::Cell;
use kernel::{
    alloc::flags::GFP_KERNEL,
    prelude::*,
    sync::rcu::{
        self,
        Guard, //
    }, //
};

use super::{
    hierarchy::{
        build,
        build_random,
        next_hierarchy,
        walk,
        TestGroup,
        TestPosition, //
    },
    random::Random, //
};
use crate::{
    excess::{
        close,
        has_first_pass,
        update,
        verdict,
        Excess,
        FirstPass,
        Limited, //
    },
    excess_walk::ExcessOrder,
    iter::Order,
    memcg_bitmap::{
        MemcgBitmap,
        MemcgId,
        Numbered, //
    }, //
};

const LARGEST: usize = 7;

/// Returns whether `at` or one of its ancestors is in `above` and exceeds its limit.
fn is_below_excess(
    groups: &[TestGroup],
    mut above: impl Iterator<Item = usize>,
    at: usize,
) -> bool {
    above.any(|above| groups[above].exceeds.get() && at < groups[above].end)
}

/// Returns the groups that are taken from below `root`, in the order of their visit.
fn expected(groups: &[TestGroup], root: usize) -> Result<KVec<usize>> {
    let mut expected = KVec::new();
    let taken = (root..groups[root].end).filter(|&at| is_below_excess(groups, root..=at, at));

    if root != 0 || groups[0].exceeds.get() {
        for at in taken {
            expected.push(at, GFP_KERNEL)?;
        }
        return Ok(expected);
    }
    // The highest ones in excess, by their ids, which descend; each with all that is below it.
    let tops = taken.filter(|&at| !is_below_excess(groups, 0..at, at));
    for top in tops.rev() {
        for at in top..groups[top].end {
            expected.push(at, GFP_KERNEL)?;
        }
    }
    Ok(expected)
}

/// Compares the list with the marks, after a walk of all groups.
fn check_list(random: &Random, step: u32, groups: &[TestGroup]) -> Result {
    for (at, group) in groups.iter().enumerate() {
        if let Some(id) = group.listed_id() {
            random.check(
                group.excess_bitmap().contains(id) == group.exceeds.get(),
                step,
                fmt!("group {at} is listed, or is not"),
            )?;
        }
    }
    Ok(())
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

        let expected = expected(groups, root)?;
        random.check(
            has_first_pass(group) != expected.is_empty(),
            step,
            fmt!("the first pass below group {root}"),
        )?;
        let position = TestPosition::new(group);
        for shared in [None, Some(&position)] {
            let visited = walk(groups, root, shared, ExcessOrder, |other| {
                verdict(other, group)
            })?;
            random.check(
                visited[..] == expected[..],
                step,
                fmt!("below group {root}: {visited:?}"),
            )?;
        }
    }
    // If all are visited, nobody needs the list.
    if groups[0].exceeds.get() {
        return Ok(());
    }
    check_list(random, step, groups)
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

impl Numbered for Restless<'_> {
    fn listed_id(&self) -> Option<MemcgId> {
        None
    }

    fn with_id<'g>(&'g self, _id: MemcgId, _guard: &'g Guard) -> Option<&'g Self> {
        None
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

    fn excess_bitmap(&self) -> &MemcgBitmap {
        static NOBODY: MemcgBitmap = MemcgBitmap::new();

        &NOBODY
    }
}

/// Walks all groups while others change their excess, and checks that it ends.
fn walk_while_marks_change(random: &mut Random, groups: &[TestGroup], step: u32) -> Result {
    const CHANGES: usize = 5;
    let guard = rcu::read_lock();
    let mut pos = None;
    let (mut visits, mut changes) = (0, 0);

    while let Some(group) = ExcessOrder.next(pos, &groups[0], &guard) {
        pos = Some(group);
        visits += 1;
        // A change may have the walk repeat what it did.
        random.check(
            visits <= (changes + 1) * groups.len(),
            step,
            fmt!("{visits} visits of {} groups", groups.len()),
        )?;
        if changes < CHANGES && groups.len() > 1 && random.below(2) == 0 {
            let at = 1 + random.below(groups.len() as u32 - 1) as usize;

            set_excess(groups, at, !groups[at].exceeds.get());
            changes += 1;
        }
    }
    Ok(())
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

    #[test]
    fn walk_ends_while_marks_change() -> Result {
        let mut random = Random::new("walk_ends_while_marks_change");

        for step in 0..2000 {
            let groups = build_random(&mut random, 12)?;

            for at in 1..groups.len() {
                set_excess(&groups, at, random.below(3) == 0);
            }
            walk_while_marks_change(&mut random, &groups, step)?;
            check(&random, step, &groups)?;
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
