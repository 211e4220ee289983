// SPDX-License-Identifier: GPL-2.0

//! The walk of a hierarchy.

use core::ptr::{
    self,
    NonNull, //
};
use kernel::{
    alloc::flags::GFP_KERNEL,
    prelude::*,
    sync::{
        aref::{
            ARef,
            AlwaysRefCounted, //
        },
        atomic::{
            Atomic,
            Full,
            Relaxed, //
        },
        rcu::Guard, //
    }, //
};

use super::random::Random;
use crate::iter::{
    self,
    Cookie,
    Group,
    SharedPosition,
    Step,
    Verdict, //
};

/// A group of a hierarchy that stands in pre-order in a slice.
struct TestGroup {
    /// The place in the slice.
    at: usize,
    /// The place behind the last descendant.
    end: usize,
    refs: Atomic<i32>,
    dying: bool,
}

impl TestGroup {
    /// Returns the group that is `distance` places further.
    ///
    /// # Safety
    ///
    /// There must be one.
    unsafe fn further(&self, distance: usize) -> &Self {
        // SAFETY: As the safety requirements say.
        unsafe { &*ptr::from_ref(self).add(distance) }
    }
}

// SAFETY: Test groups are freed by the test, after all walks.
unsafe impl AlwaysRefCounted for TestGroup {
    fn inc_ref(&self) {
        self.refs.add(1, Relaxed);
    }

    unsafe fn dec_ref(group: NonNull<Self>) {
        // SAFETY: The test keeps the groups.
        unsafe { group.as_ref() }.refs.add(-1, Relaxed);
    }
}

impl Group for TestGroup {
    fn next_descendant_pre<'g>(
        pos: Option<&'g Self>,
        root: &'g Self,
        _guard: &'g Guard,
    ) -> Option<&'g Self> {
        match pos {
            None => Some(root),
            // SAFETY: The group after `pos` is still a descendant of `root`.
            Some(pos) if pos.at + 1 < root.end => Some(unsafe { pos.further(1) }),
            Some(_) => None,
        }
    }

    fn next_after_subtree<'g>(&'g self, root: &'g Self, _guard: &'g Guard) -> Option<&'g Self> {
        // SAFETY: The group behind the last descendant is one below `root`, so it is in the slice.
        (self.end < root.end).then(|| unsafe { self.further(self.end - self.at) })
    }

    fn try_get(&self) -> Option<ARef<Self>> {
        (!self.dying).then(|| self.into())
    }
}

/// A position that is not shared with anybody else's test.
struct TestPosition {
    position: Atomic<*mut TestGroup>,
    generation: Atomic<i32>,
}

impl TestPosition {
    fn new() -> Self {
        Self {
            position: Atomic::new(ptr::null_mut()),
            generation: Atomic::new(0),
        }
    }
}

fn as_ptr(group: Option<&TestGroup>) -> *mut TestGroup {
    group.map_or(ptr::null_mut(), |group| ptr::from_ref(group).cast_mut())
}

impl SharedPosition<TestGroup> for TestPosition {
    fn generation(&self) -> i32 {
        self.generation.load(Relaxed)
    }

    fn complete_round(&self) {
        self.generation.add(1, Relaxed);
    }

    fn load<'g>(&self, _guard: &'g Guard) -> Option<&'g TestGroup> {
        // SAFETY: The test keeps the groups longer than the position.
        unsafe { self.position.load(Relaxed).as_ref() }
    }

    fn advance(&self, from: Option<&TestGroup>, to: Option<&TestGroup>) -> bool {
        self.position
            .cmpxchg(as_ptr(from), as_ptr(to), Full)
            .is_ok()
    }
}

/// Builds the hierarchy in which group `i` has depth `depths[i]`.
fn build(depths: &[usize]) -> Result<KVec<TestGroup>> {
    let mut groups = KVec::with_capacity(depths.len(), GFP_KERNEL)?;

    for (at, &depth) in depths.iter().enumerate() {
        let rest = &depths[at + 1..];
        let below = rest.iter().take_while(|&&d| d > depth).count();
        let group = TestGroup {
            at,
            end: at + 1 + below,
            refs: Atomic::new(0),
            dying: false,
        };
        groups.push(group, GFP_KERNEL)?;
    }
    Ok(groups)
}

/// Turns `depths` into those of the next hierarchy of the same size, and returns whether there is
/// one.
fn next_hierarchy(depths: &mut [usize]) -> bool {
    for i in (1..depths.len()).rev() {
        if depths[i] <= depths[i - 1] {
            depths[i] += 1;
            depths[i + 1..].fill(1);
            return true;
        }
    }
    false
}

/// Walks below `root`, and returns the places of the groups in the order of their visit.
fn walk(
    groups: &[TestGroup],
    root: usize,
    shared: Option<&TestPosition>,
    filter: impl Fn(&TestGroup) -> Verdict,
) -> Result<KVec<usize>> {
    let mut visited = KVec::new();
    let mut generation = 0;
    let mut prev: Option<Step<TestGroup>> = None;

    loop {
        let at = prev.as_ref().map(|step| &groups[place(step, root)]);
        let cookie = shared.map(|shared| Cookie {
            shared,
            generation: &mut generation,
        });
        let Some(next) = iter::next(&groups[root], at, cookie, &filter) else {
            return Ok(visited);
        };

        visited.push(place(&next, root), GFP_KERNEL)?;
        if visited.len() > groups.len() {
            return Err(ELOOP);
        }
        prev = Some(next);
    }
}

fn place(step: &Step<TestGroup>, root: usize) -> usize {
    match step {
        Step::Root => root,
        Step::Descendant(group) => group.at,
    }
}

/// What [`walk`] should visit.
fn expected<'a>(
    groups: &'a [TestGroup],
    root: usize,
    filter: impl Fn(&TestGroup) -> Verdict + 'a,
) -> impl Iterator<Item = usize> + 'a {
    let mut at = root;

    core::iter::from_fn(move || {
        while at < groups[root].end {
            let group = &groups[at];

            at = match filter(group) {
                Verdict::SkipTree => group.end,
                _ => at + 1,
            };
            if filter(group) == Verdict::Visit && (group.at == root || !group.dying) {
                return Some(group.at);
            }
        }
        None
    })
}

/// The verdict on group `at` in combination number `combination`.
fn verdict(combination: usize, at: usize) -> Verdict {
    match combination / 3usize.pow(at as u32) % 3 {
        0 => Verdict::Visit,
        1 => Verdict::Skip,
        _ => Verdict::SkipTree,
    }
}

fn check_hierarchy(random: &Random, groups: &[TestGroup]) -> Result {
    for root in 0..groups.len() {
        for combination in 0..3usize.pow(groups.len() as u32) {
            let filter = |group: &TestGroup| verdict(combination, group.at);
            let position = TestPosition::new();

            for shared in [None, Some(&position)] {
                let visited = walk(groups, root, shared, filter)?;

                random.check(
                    visited.iter().copied().eq(expected(groups, root, filter)),
                    combination as u32,
                    fmt!("root {root}, shared {}: {visited:?}", shared.is_some()),
                )?;
            }
        }
    }
    let leaks = groups.iter().filter(|g| g.refs.load(Relaxed) != 0).count();
    random.check(leaks == 0, 0, fmt!("{leaks} groups have references left"))
}

/// Walkers that take turns at random: each group is visited once per round by all together.
fn share(random: &mut Random, groups: &[TestGroup], rounds: usize) -> Result {
    const WALKERS: usize = 3;
    let position = TestPosition::new();
    let mut visits = KVVec::from_elem(0u8, groups.len() * (rounds + 1), GFP_KERNEL)?;
    let mut prev: [Option<Step<TestGroup>>; WALKERS] = [const { None }; WALKERS];
    let mut generations = [0; WALKERS];

    while (position.generation() as usize) < rounds {
        let walker = random.below(WALKERS as u32) as usize;
        let at = prev[walker].as_ref().map(|step| &groups[place(step, 0)]);
        let cookie = Some(Cookie {
            shared: &position,
            generation: &mut generations[walker],
        });
        let next = iter::next(&groups[0], at, cookie, |_| Verdict::Visit);

        if let Some(step) = &next {
            let round = generations[walker] as usize;
            visits[round * groups.len() + place(step, 0)] += 1;
        }
        prev[walker] = next;
    }

    for (i, &visits) in visits.iter().take(groups.len() * rounds).enumerate() {
        let (round, at) = (i / groups.len(), i % groups.len());
        random.check(
            visits == 1,
            round as u32,
            fmt!("group {at} is visited {visits} times"),
        )?;
    }
    Ok(())
}

#[kunit_tests(mm_reclaim_iter)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_on_every_small_hierarchy() -> Result {
        let random = Random::new("every_verdict_on_every_small_hierarchy");

        for size in 1..=5 {
            let mut depths = KVec::from_elem(1, size, GFP_KERNEL)?;
            depths[0] = 0;
            loop {
                let mut groups = build(&depths)?;
                check_hierarchy(&random, &groups)?;
                if let Some(last) = groups.last_mut() {
                    last.dying = true;
                }
                check_hierarchy(&random, &groups)?;
                if !next_hierarchy(&mut depths) {
                    break;
                }
            }
        }
        Ok(())
    }

    #[test]
    fn shared_walk_visits_each_once_per_round() -> Result {
        let mut random = Random::new("shared_walk_visits_each_once_per_round");

        for _ in 0..50 {
            let size = 1 + random.below(20) as usize;
            let mut depths = KVec::from_elem(0, size, GFP_KERNEL)?;
            for i in 1..size {
                depths[i] = 1 + random.below(depths[i - 1] as u32 + 1) as usize;
            }
            share(&mut random, &build(&depths)?, 100)?;
        }
        Ok(())
    }

    #[test]
    fn refusing_everything_ends() -> Result {
        let random = Random::new("refusing_everything_ends");
        let groups = build(&[0, 1, 2, 1])?;

        for refusal in [Verdict::Skip, Verdict::SkipTree] {
            let position = TestPosition::new();

            // Also from the middle of a round that another walker began.
            for start in 0..groups.len() {
                position.position.store(as_ptr(groups.get(start)), Relaxed);
                let visited = walk(&groups, 0, Some(&position), |_| refusal)?;
                random.check(visited.is_empty(), start as u32, fmt!("{visited:?}"))?;
            }
        }
        Ok(())
    }
}
