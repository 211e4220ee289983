// SPDX-License-Identifier: GPL-2.0

//! The walk of a hierarchy.

use core::cell::Cell;
use kernel::{
    alloc::flags::GFP_KERNEL,
    prelude::*,
    sync::atomic::Relaxed,
    task::might_sleep, //
};

use super::{
    hierarchy::{
        self,
        as_ptr,
        build,
        build_random,
        every_hierarchy,
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
    Verdict,
    MAX_SKIPPED, //
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
    // Not by a power of 3: objtool doesn't know that a division by zero does not return.
    match (0..at).fold(combination, |rest, _| rest / 3) % 3 {
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

    while (position.generation().load(Relaxed) as usize) < rounds {
        let walker = random.below(WALKERS as u32) as usize;
        let at = prev[walker].as_ref().map(|step| &groups[place(step, 0)]);
        let cookie = Some(Cookie {
            shared: &position,
            generation: &mut generations[walker],
        });
        let next = hierarchy::next(&groups[0], at, cookie, PreOrder, |_| Verdict::Visit);

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

/// Builds a hierarchy of so many groups, of which most have a sibling, and at most two levels below
/// the root's children.
fn build_wide(random: &mut Random, size: usize) -> Result<KVec<TestGroup>> {
    let mut depths = KVec::from_elem(0, size, GFP_KERNEL)?;

    for i in 1..size {
        depths[i] = 1 + random.below(depths[i - 1].min(2) as u32 + 1) as usize;
    }
    build(&depths)
}

/// A verdict for each group, by which a walk skips many in a row: one of `visit` is visited.
fn mostly_skip(random: &mut Random, size: usize, visit: u32) -> Result<KVec<Verdict>> {
    let mut verdicts = KVec::with_capacity(size, GFP_KERNEL)?;

    for _ in 0..size {
        let verdict = match (random.below(visit), random.below(2)) {
            (0, _) => Verdict::Visit,
            (_, 0) => Verdict::Skip,
            _ => Verdict::SkipTree,
        };
        verdicts.push(verdict, GFP_KERNEL)?;
    }
    // There is something to visit, or may be.
    verdicts[0] = match random.below(2) {
        0 => Verdict::Visit,
        _ => Verdict::Skip,
    };
    Ok(verdicts)
}

/// A walk that skips many visits the same groups as one that doesn't, and leaves RCU in time.
/// Returns how often it did.
fn skip_many(
    random: &Random,
    groups: &[TestGroup],
    verdicts: &[Verdict],
    shared: Option<&TestPosition<'_>>,
) -> Result<usize> {
    let (asked, most, pauses) = (Cell::new(0), Cell::new(0), Cell::new(0));
    // What follows the subtree that was skipped last, and how many of it were asked for.
    let (after, astray) = (Cell::new(0), Cell::new(0));
    let mut expected = expected(groups, 0, |group| verdicts[group.at]);
    let mut generation = 0;
    let mut prev: Option<Step<TestGroup>> = None;

    loop {
        let at = prev.as_ref().map(|step| &groups[place(step, 0)]);
        let cookie = shared.map(|shared| Cookie {
            shared,
            generation: &mut generation,
        });
        asked.set(0);
        prev = iter::next(
            &groups[0],
            at,
            cookie,
            PreOrder,
            |group| {
                asked.set(asked.get() + 1);
                most.set(most.get().max(asked.get()));
                astray.set(astray.get() + u32::from(group.at < after.get()));
                if verdicts[group.at] == Verdict::SkipTree {
                    after.set(group.end);
                }
                verdicts[group.at]
            },
            || {
                // Complains, if the kernel can, under RCU.
                might_sleep();
                pauses.set(pauses.get() + 1);
                asked.set(0);
            },
        );

        let (found, expected) = (prev.as_ref().map(|step| place(step, 0)), expected.next());
        random.check(
            found == expected,
            pauses.get() as u32,
            fmt!("{found:?} is visited, not {expected:?}"),
        )?;
        if found.is_none() {
            break;
        }
    }
    random.check(
        astray.get() == 0,
        0,
        fmt!("{} groups of skipped subtrees are asked for", astray.get()),
    )?;
    // A walk can't stop at groups that are gone.
    let gone = groups.iter().any(|group| group.dying);
    random.check(
        gone || most.get() <= MAX_SKIPPED,
        0,
        fmt!("{} groups are skipped at a time", most.get()),
    )?;
    Ok(pauses.get())
}

/// Two walkers, of which one goes on while the other one is out of RCU, or is about to move the
/// position: each group that passes the filter is visited once per round by both together.
///
/// There must be two such groups. With fewer, the position may come back to where it was while a
/// walker is about to move it, which it does not notice: as in C.
fn share_while_skipping(
    random: &mut Random,
    groups: &[TestGroup],
    verdicts: &[Verdict],
    rounds: usize,
) -> Result {
    struct Walker {
        prev: Option<Step<TestGroup>>,
        generation: i32,
    }

    let mut once = KVVec::from_elem(0u8, groups.len(), GFP_KERNEL)?;
    for at in expected(groups, 0, |group| verdicts[group.at]) {
        once[at] = 1;
    }
    if once.iter().filter(|&&visits| visits != 0).count() < 2 {
        return Ok(());
    }

    let position = TestPosition::new(&groups[0]);
    let visits = KVVec::from_elem(Cell::new(0u8), groups.len() * rounds, GFP_KERNEL)?;
    let take = |walker: &mut Walker, filter: &dyn Fn(), pause: &dyn Fn()| {
        let at = walker.prev.as_ref().map(|step| &groups[place(step, 0)]);
        let cookie = Some(Cookie {
            shared: &position,
            generation: &mut walker.generation,
        });
        let verdict = |group: &TestGroup| {
            filter();
            verdicts[group.at]
        };
        let next = iter::next(&groups[0], at, cookie, PreOrder, verdict, pause);

        if let Some(step) = &next {
            let visit = walker.generation as usize * groups.len() + place(step, 0);
            if let Some(visits) = visits.get(visit) {
                visits.set(visits.get() + 1);
            }
        }
        walker.prev = next;
    };
    let [mut one, other] = [const {
        Walker {
            prev: None,
            generation: 0,
        }
    }; 2];

    {
        // Taken by who uses them. A `RefCell` would do, if objtool knew its panics.
        let tools = Cell::new(Some((&mut *random, other)));
        let sometimes = |one_in| {
            let Some((random, mut other)) = tools.take() else {
                return false;
            };
            let now = random.below(one_in) == 0;
            if now {
                take(&mut other, &|| (), &|| ());
            }
            tools.set(Some((random, other)));
            now
        };
        // Not twice while the first one is under RCU, for the same reason.
        let interfered = Cell::new(false);
        let filter = || interfered.set(interfered.get() || sometimes(100));
        let pause = || {
            while sometimes(2) {}
            interfered.set(false);
        };
        while (position.generation().load(Relaxed) as usize) < rounds {
            pause();
            take(&mut one, &filter, &pause);
        }
    }
    for (i, visits) in visits.iter().map(Cell::get).enumerate() {
        let (round, at) = (i / groups.len(), i % groups.len());
        random.check(
            visits == once[at],
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

        every_hierarchy(5, |mut groups| {
            check_hierarchy(&random, &groups)?;
            if let Some(last) = groups.last_mut() {
                last.dying = true;
            }
            check_hierarchy(&random, &groups)
        })
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

    #[test]
    fn skipping_many_leaves_rcu() -> Result {
        let mut random = Random::new("skipping_many_leaves_rcu");
        let mut pauses = 0;

        for i in 0..100 {
            let size = 1 + random.below(10 * MAX_SKIPPED) as usize;
            let visit = 1 + random.below(1000);
            let mut groups = build_wide(&mut random, size)?;
            let verdicts = mostly_skip(&mut random, size, visit)?;

            for group in groups.iter_mut().skip(1) {
                group.dying = i % 2 == 0 && random.below(3) == 0;
            }
            let position = TestPosition::new(&groups[0]);
            for shared in [None, Some(&position)] {
                pauses += skip_many(&random, &groups, &verdicts, shared)?;
            }
            let leaks = groups.iter().filter(|g| g.refs.load(Relaxed) != 0).count();
            random.check(leaks == 0, i, fmt!("{leaks} groups have references left"))?;
        }
        random.check(pauses != 0, 0, fmt!("no walk ever left RCU"))
    }

    #[test]
    fn skipping_many_goes_on_from_the_winner() -> Result {
        let mut random = Random::new("skipping_many_goes_on_from_the_winner");

        for _ in 0..20 {
            let size = 4 * MAX_SKIPPED as usize;
            let groups = build_wide(&mut random, size)?;
            let verdicts = mostly_skip(&mut random, size, 50)?;

            share_while_skipping(&mut random, &groups, &verdicts, 10)?;
        }
        Ok(())
    }

    /// The position is where it was, but in another round.
    #[test]
    fn round_that_another_one_ends_begins_anew() -> Result {
        let random = Random::new("round_that_another_one_ends_begins_anew");
        let mut depths = KVec::from_elem(1, 2 * MAX_SKIPPED as usize, GFP_KERNEL)?;
        depths[0] = 0;
        let groups = build(&depths)?;
        let position = TestPosition::new(&groups[0]);
        let (mut one, mut other) = (0, 0);
        let has_left = Cell::new(false);
        let step = iter::next(
            &groups[0],
            None,
            Some(Cookie {
                shared: &position,
                generation: &mut one,
            }),
            PreOrder,
            |_| match has_left.get() {
                true => Verdict::Visit,
                false => Verdict::Skip,
            },
            || {
                let mut prev: Option<Step<TestGroup>> = None;

                has_left.set(true);
                loop {
                    let at = prev.as_ref().map(|step| &groups[place(step, 0)]);
                    let cookie = Some(Cookie {
                        shared: &position,
                        generation: &mut other,
                    });
                    prev = hierarchy::next(&groups[0], at, cookie, PreOrder, |_| Verdict::Visit);
                    if prev.is_none() {
                        break;
                    }
                }
            },
        );
        let found = step.as_ref().map(|step| place(step, 0));
        random.check(
            found == Some(0) && one == 1,
            0,
            fmt!("{found:?} is visited in round {one}"),
        )
    }

    #[test]
    fn loser_leaves_rcu() -> Result {
        let random = Random::new("loser_leaves_rcu");
        let groups = build(&[0, 1, 1])?;
        let position = TestPosition::new(&groups[0]);
        let (mut one, mut other) = (0, 0);
        let (mut asked, mut pauses) = (0, 0);
        let step = iter::next(
            &groups[0],
            None,
            Some(Cookie {
                shared: &position,
                generation: &mut one,
            }),
            PreOrder,
            |_| {
                // The other one is faster, once.
                if asked == 0 {
                    let cookie = Some(Cookie {
                        shared: &position,
                        generation: &mut other,
                    });
                    hierarchy::next(&groups[0], None, cookie, PreOrder, |_| Verdict::Visit);
                }
                asked += 1;
                Verdict::Visit
            },
            || pauses += 1,
        );
        let found = step.as_ref().map(|step| place(step, 0));
        random.check(
            found == Some(1) && pauses == 1 && asked == 2,
            0,
            fmt!("{found:?} is visited, of {asked} groups, after {pauses} pauses"),
        )
    }
}
