// SPDX-License-Identifier: GPL-2.0

//! The walk of a hierarchy.

use kernel::{
    alloc::flags::GFP_KERNEL,
    prelude::*,
    sync::atomic::Relaxed, //
};

use super::{
    hierarchy::{
        as_ptr,
        build,
        build_random,
        next_hierarchy,
        place,
        walk,
        TestGroup,
        TestPosition, //
    },
    random::Random, //
};
use crate::iter::{
    self,
    Cookie,
    PreOrder,
    SharedPosition,
    Step,
    Verdict, //
};

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
            let position = TestPosition::new(&groups[root]);

            for shared in [None, Some(&position)] {
                let visited = walk(groups, root, shared, PreOrder, filter)?;

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
    let position = TestPosition::new(&groups[0]);
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
        let next = iter::next(&groups[0], at, cookie, PreOrder, |_| Verdict::Visit);

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
            let groups = build_random(&mut random, 20)?;
            share(&mut random, &groups, 100)?;
        }
        Ok(())
    }

    #[test]
    fn refusing_everything_ends() -> Result {
        let random = Random::new("refusing_everything_ends");
        let groups = build(&[0, 1, 2, 1])?;

        for refusal in [Verdict::Skip, Verdict::SkipTree] {
            let position = TestPosition::new(&groups[0]);

            // Also from the middle of a round that another walker began.
            for start in 0..groups.len() {
                position.position.store(as_ptr(groups.get(start)), Relaxed);
                let visited = walk(&groups, 0, Some(&position), PreOrder, |_| refusal)?;
                random.check(visited.is_empty(), start as u32, fmt!("{visited:?}"))?;
            }
        }
        Ok(())
    }
}
