// SPDX-License-Identifier: GPL-2.0

//! Soft limits.

use core::cell::Cell;
use kernel::{
    alloc::flags::GFP_KERNEL,
    bindings::mem_cgroup_excess_pass,
    prelude::*,
    sync::{
        atomic::Atomic,
        rcu::Guard, //
    }, //
};

use super::{
    group::node,
    hierarchy::{
        self,
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
use crate::{
    iter::{
        self,
        Cookie,
        HasParent,
        Step,
        Verdict,
        MAX_SKIPPED, //
    },
    memcg_bitmap::{
        HasMemcgId,
        MemcgBitmap,
        MemcgId, //
    },
    soft_limit::{
        close,
        has_first_pass,
        has_more,
        is_in_vain,
        is_listed,
        update,
        verdict,
        walk::{
            ExcessOrder,
            Tops, //
        },
        HasSoftLimit,
        SoftLimitState, //
    },
    sys::Node, //
};

/// Sanitizers make memory accesses many times slower: each size takes ten times as long as the one
/// before, and the kernel would report the waiting task as hung.
const LARGEST: usize = if cfg!(any(CONFIG_KASAN, CONFIG_KCSAN)) {
    6
} else {
    7
};

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
    // The highest ones that are listed, by their ids; each with those in excess at or below it.
    let is_top = |top: &usize| {
        let is_below = |above: usize| is_listed(&groups[above]) && *top < groups[above].end;

        is_listed(&groups[*top]) && !(0..*top).any(is_below)
    };
    for id in 1..=groups.len() as u16 {
        let tops = (1..groups.len()).filter(|&at| groups[at].id == id);

        for top in tops.filter(is_top) {
            for at in taken
                .clone()
                .filter(|at| (top..groups[top].end).contains(at))
            {
                expected.push(at, GFP_KERNEL)?;
            }
        }
    }
    // Nobody is forgotten, nor taken from twice.
    if !taken.clone().all(|at| expected.contains(&at)) || expected.len() != taken.count() {
        return Err(ENOENT);
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

/// Walks those in excess below `root`.
fn walk_excess(groups: &[TestGroup], root: usize, is_shared: bool) -> Result<KVec<usize>> {
    let filter = |group: &TestGroup| verdict(group, &groups[root]);
    let position = TestPosition::new(&groups[root]);
    let top = Atomic::new(0);
    let (shared, tops) = if is_shared {
        (Some(&position), Tops::Shared(node()?))
    } else {
        (None, Tops::Alone(&top))
    };

    walk(groups, root, shared, ExcessOrder::new(tops), filter)
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

        let some_below = nr > 0 && !group.exceeds.get();
        random.check(
            has_first_pass(group) == some_below,
            step,
            fmt!("the first pass below group {root}"),
        )?;
        for is_shared in [false, true] {
            let expected = expected(groups, root)?;
            let visited = walk_excess(groups, root, is_shared)?;

            random.check(
                visited[..] == expected[..],
                step,
                fmt!("below group {root}, shared {is_shared}: {visited:?}, not {expected:?}"),
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
    excess: SoftLimitState,
    /// Whether it will be found to exceed its limit, the lowest bit first.
    script: Cell<u32>,
}

impl<'a> Restless<'a> {
    fn new(parent: Option<&'a Self>) -> Self {
        Self {
            parent,
            excess: SoftLimitState::new(),
            script: Cell::new(0),
        }
    }
}

impl HasParent for Restless<'_> {
    fn parent(&self) -> Option<&Self> {
        self.parent
    }
}

impl HasMemcgId for Restless<'_> {
    fn listed_id(&self) -> Option<MemcgId> {
        None
    }

    fn with_id<'g>(&'g self, _id: MemcgId, _guard: &'g Guard) -> Option<&'g Self> {
        None
    }
}

impl HasSoftLimit for Restless<'_> {
    fn excess(&self) -> &SoftLimitState {
        &self.excess
    }

    fn exceeds(&self) -> bool {
        let script = self.script.get();

        self.script.set(script >> 1);
        script & 1 != 0
    }

    fn excess_bitmap(&self) -> &MemcgBitmap {
        static NOBODY: MemcgBitmap = MemcgBitmap::new();

        &NOBODY
    }

    fn excess_top(&self, _node: Node) -> &Atomic<u32> {
        static NOWHERE: Atomic<u32> = Atomic::new(0);

        &NOWHERE
    }
}

/// Goes on with a walk of all groups that is not shared.
fn next_excess(
    groups: &[TestGroup],
    prev: Option<&Step<TestGroup>>,
    top: &Atomic<u32>,
    filter: impl FnMut(&TestGroup) -> Verdict,
    pause: impl FnMut(),
) -> Option<Step<TestGroup>> {
    let prev = prev.map(|step| &groups[place(step, 0)]);
    let alone = None::<Cookie<'_, TestPosition<'_>>>;
    let order = ExcessOrder::new(Tops::Alone(top));

    iter::next(&groups[0], prev, alone, order, filter, pause)
}

/// Walks all groups while others change their excess, and checks that it ends.
fn walk_while_marks_change(random: &mut Random, groups: &[TestGroup], step: u32) -> Result {
    const CHANGES: usize = 5;
    let top = Atomic::new(0);
    let mut prev = None;
    let (mut visits, mut changes) = (0, 0);

    while let Some(next) = next_excess(groups, prev.as_ref(), &top, |_| Verdict::Visit, || ()) {
        prev = Some(next);
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

/// Gives the groups ids in another order.
fn shuffle_ids(random: &mut Random, groups: &mut [TestGroup]) {
    for at in 1..groups.len() {
        let other = 1 + random.below(at as u32) as usize;
        let id = groups[at].id;

        groups[at].id = groups[other].id;
        groups[other].id = id;
    }
}

/// Walks those in excess while `lose` takes marks away, which is called after each visit. Checks
/// that none is visited twice, and that those are visited that are in excess all the time.
fn walk_while_marks_are_lost(
    random: &mut Random,
    groups: &[TestGroup],
    step: u32,
    is_shared: bool,
    mut lose: impl FnMut(&mut Random, usize),
) -> Result {
    let top = Atomic::new(0);
    let position = TestPosition::new(&groups[0]);
    let mut generation = 0;
    let mut visits = KVec::from_elem(0, groups.len(), GFP_KERNEL)?;
    let mut prev: Option<Step<TestGroup>> = None;

    loop {
        let filter = |group: &TestGroup| verdict(group, &groups[0]);
        let next = if is_shared {
            let at = prev.as_ref().map(|step| &groups[place(step, 0)]);
            let cookie = Some(Cookie {
                shared: &position,
                generation: &mut generation,
            });

            let order = ExcessOrder::new(Tops::Shared(node()?));

            hierarchy::next(&groups[0], at, cookie, order, filter)
        } else {
            next_excess(groups, prev.as_ref(), &top, filter, || ())
        };
        let Some(next) = next else {
            break;
        };
        let at = place(&next, 0);

        visits[at] += 1;
        random.check(
            visits[at] == 1,
            step,
            fmt!("group {at} is visited twice, shared {is_shared}"),
        )?;
        lose(random, at);
        prev = Some(next);
    }
    for (at, &visits) in visits.iter().enumerate() {
        random.check(
            visits == 1 || !is_below_excess(groups, 0..=at, at),
            step,
            fmt!("group {at} is not visited, shared {is_shared}"),
        )?;
    }
    // Who was found without a mark is listed no more.
    check_list(random, step, groups)
}

/// Returns the highest group in excess that `at` is, or is below.
fn top_of(groups: &[TestGroup], at: usize) -> Option<usize> {
    (1..=at).find(|&above| groups[above].exceeds.get() && at < groups[above].end)
}

/// Returns every pair.
fn every<const N: usize, T>(
    one: [usize; N],
    other: impl IntoIterator<Item = T> + Clone,
) -> impl Iterator<Item = (usize, T)> {
    one.into_iter()
        .flat_map(move |one| other.clone().into_iter().map(move |other| (one, other)))
}

/// Memory as reclaim finds it, in pages.
#[derive(Clone, Copy, Debug)]
struct Memory {
    /// Those of a group in excess that can't be reclaimed, and those that can, among each other.
    stuck: usize,
    trickle: usize,
    /// Those of a group that is not in excess.
    cold: usize,
}

/// Reclaims as `do_try_to_free_pages()` does, each pass a part of all pages that depends on the
/// priority, and returns how many were scanned and reclaimed. Without soft limits there is one
/// pass.
fn reclaim(memory: Memory, wanted: usize, has_soft_limits: bool) -> (usize, usize) {
    let (mut scanned, mut reclaimed) = (0, 0);

    for priority in (0..=12).rev() {
        let first = mem_cgroup_excess_pass {
            scanned: (memory.stuck + memory.trickle) >> priority,
            reclaimed: memory.trickle >> priority,
            waiting: 0,
            wanted,
            size: 0,
            priority,
        };

        scanned += first.scanned;
        reclaimed += first.reclaimed;
        if !has_soft_limits || is_in_vain(&first) {
            scanned += memory.cold >> priority;
            reclaimed += memory.cold >> priority;
        }
        if reclaimed >= wanted {
            break;
        }
    }
    (scanned, reclaimed)
}

#[kunit_tests(mm_reclaim_excess)]
mod tests {
    use super::*;

    #[test]
    fn every_excess_in_every_small_hierarchy() -> Result {
        let random = Random::new("every_excess_in_every_small_hierarchy");

        every_hierarchy(LARGEST, |groups| every_combination(&random, &groups))
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

    /// Reclaim of a group brings the one above it under its limit. Two of those below that one are
    /// in excess themselves, and have ids lower and higher than its own.
    #[test]
    fn top_loses_its_mark_in_its_subtree() -> Result {
        const TOP: usize = 3;
        let mut random = Random::new("top_loses_its_mark_in_its_subtree");

        for is_shared in [false, true] {
            for lost_at in TOP..=9 {
                let mut groups = build(&[0, 1, 1, 1, 2, 3, 2, 3, 2, 2, 1, 1])?;

                for (at, id) in [7, 5, 6, 11, 3, 8, 2, 10, 4, 9, 1].into_iter().enumerate() {
                    groups[at + 1].id = id;
                }
                for at in [1, 2, TOP, 5, 7, 8, 9, 10, 11] {
                    set_excess(&groups, at, true);
                }
                walk_while_marks_are_lost(&mut random, &groups, 0, is_shared, |_, at| {
                    if at == lost_at {
                        set_excess(&groups, TOP, false);
                    }
                })?;
            }
        }
        Ok(())
    }

    #[test]
    fn walk_while_tops_lose_their_marks() -> Result {
        let mut random = Random::new("walk_while_tops_lose_their_marks");

        for step in 0..4000 {
            let mut groups = build_random(&mut random, 12)?;

            shuffle_ids(&mut random, &mut groups);
            for at in 1..groups.len() {
                set_excess(&groups, at, random.below(2) == 0);
            }
            // Some of those listed have no mark to begin with.
            for at in 1..groups.len() {
                if random.below(4) == 0 {
                    set_excess(&groups, at, false);
                }
            }
            walk_while_marks_are_lost(&mut random, &groups, step, step % 2 == 0, |random, at| {
                let lost = match random.below(4) {
                    0 => top_of(&groups, at),
                    1 => Some(1 + random.below(groups.len() as u32 - 1) as usize),
                    _ => None,
                };
                if let Some(at) = lost {
                    set_excess(&groups, at, false);
                }
            })?;
            check(&random, step, &groups)?;
        }
        Ok(())
    }

    /// Those listed below another one, and those to take off the list, may be as many as there are
    /// ids.
    #[test]
    fn leaves_rcu_between_those_listed() -> Result {
        const NR: usize = 4 * MAX_SKIPPED as usize;
        let random = Random::new("leaves_rcu_between_those_listed");

        for keep_marks in [true, false] {
            let mut depths = KVec::from_elem(2, 2 + NR, GFP_KERNEL)?;

            (depths[0], depths[1]) = (0, 1);
            let groups = build(&depths)?;

            for at in (1..groups.len()).rev() {
                set_excess(&groups, at, true);
            }
            for at in 1..groups.len() {
                set_excess(&groups, at, keep_marks);
            }

            // Before the one above all others, or instead; and again when all are taken off.
            let top = Atomic::new(0);
            let mut pauses = 0;
            let first = next_excess(&groups, None, &top, |_| Verdict::Visit, || pauses += 1);
            let place = first.as_ref().map(|step| place(step, 0));
            let (expected, least) = if keep_marks { (Some(1), 4) } else { (None, 8) };

            random.check(place == expected, 0, fmt!("visited {place:?}"))?;
            random.check(
                pauses >= least,
                0,
                fmt!("{pauses} pauses, with {NR} listed"),
            )?;
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
        random.check(!is_listed(&groups[2]), 0, fmt!("listed"))?;
        update(&groups[2]);
        groups[2].exceeds.set(false);
        check(&random, 1, &groups)
    }

    /// As many pages as direct reclaim wants, and about as many as kswapd does on a small machine.
    const WANTED: [usize; 2] = [32, 1536];

    /// As much as was wanted is enough, and nothing never is, whatever the rest.
    #[test]
    fn second_pass_at_the_ends() -> Result {
        let random = Random::new("second_pass_at_the_ends");

        for (wanted, priority) in every(WANTED, 0..=12) {
            let mut pass = mem_cgroup_excess_pass {
                scanned: 1 << 20,
                reclaimed: wanted,
                waiting: 0,
                wanted,
                size: 0,
                priority,
            };
            let step = priority as u32;

            random.check(!is_in_vain(&pass), step, fmt!("{wanted} reclaimed"))?;
            pass.reclaimed = 0;
            random.check(is_in_vain(&pass), step, fmt!("none of many"))?;
            (pass.scanned, pass.reclaimed) = (wanted, wanted - 1);
            random.check(
                is_in_vain(&pass) == (priority == 0),
                step,
                fmt!("a page less"),
            )?;
            (pass.scanned, pass.reclaimed) = (0, 0);
            random.check(is_in_vain(&pass), step, fmt!("nothing scanned"))?;
            pass.wanted = 0;
            random.check(is_in_vain(&pass), step, fmt!("nothing wanted"))?;
        }
        Ok(())
    }

    /// A trickle out of pages that can't be reclaimed never is enough.
    #[test]
    fn second_pass_after_a_trickle() -> Result {
        let random = Random::new("second_pass_after_a_trickle");

        for (wanted, priority) in every(WANTED, 0..=12) {
            // 4 GiB in excess, and as many as a thousandth of it is reclaimed.
            let scanned = (1usize << 20 >> priority).max(256);
            let pass = mem_cgroup_excess_pass {
                scanned,
                reclaimed: (scanned >> 10).clamp(1, wanted - 1),
                waiting: 0,
                wanted,
                size: 0,
                priority,
            };

            random.check(
                is_in_vain(&pass),
                priority as u32,
                fmt!("{} of {scanned} for {wanted}", pass.reclaimed),
            )?;
        }
        Ok(())
    }

    /// With a group in excess that has a trickle, no more pages are scanned on the way to what is
    /// wanted than without soft limits.
    #[test]
    fn trickle_costs_nothing() -> Result {
        let random = Random::new("trickle_costs_nothing");

        for (wanted, stuck) in every(WANTED, 10..=20) {
            for (cold, share) in every([1 << 12, 1 << 16, 1 << 20], 4..=20) {
                let stuck = 1usize << stuck;
                let memory = Memory {
                    stuck,
                    trickle: stuck >> share,
                    cold,
                };
                let (scanned, reclaimed) = reclaim(memory, wanted, true);
                let (without, _) = reclaim(memory, wanted, false);

                random.check(
                    reclaimed >= wanted && scanned <= without,
                    share,
                    fmt!("{memory:?}: {scanned} scanned for {wanted}, not {without}"),
                )?;
            }
        }
        Ok(())
    }

    /// Groups in excess have reclaim to themselves if all of their pages can be reclaimed, and are
    /// at least as many as are wanted.
    #[test]
    fn no_second_pass_while_there_is_enough() -> Result {
        let random = Random::new("no_second_pass_while_there_is_enough");

        for (wanted, priority) in every(WANTED, 0..=12) {
            for pages in [wanted / 2, wanted, wanted * 2, 1 << 20] {
                let scanned = pages >> priority;
                let pass = mem_cgroup_excess_pass {
                    scanned,
                    reclaimed: scanned,
                    waiting: 0,
                    wanted,
                    size: 0,
                    priority,
                };

                random.check(
                    is_in_vain(&pass) == (scanned == 0 || pages < wanted),
                    priority as u32,
                    fmt!("all {scanned} of {pages} for {wanted}"),
                )?;
            }
        }
        Ok(())
    }

    /// Pages that wait to be written count while nothing is urgent.
    #[test]
    fn second_pass_and_writeback() -> Result {
        let random = Random::new("second_pass_and_writeback");

        for (wanted, priority) in every(WANTED, 0..=12) {
            let pass = mem_cgroup_excess_pass {
                scanned: 4096,
                reclaimed: 0,
                waiting: 4096,
                wanted,
                size: 0,
                priority,
            };

            random.check(
                is_in_vain(&pass) == (priority < 10),
                priority as u32,
                fmt!("for {wanted}"),
            )?;
        }
        Ok(())
    }

    /// Others keep their anonymous memory as long as those in excess give, but not to the end; and
    /// while nothing is urgent, until it is known what they give.
    #[test]
    fn others_are_spared() -> Result {
        let random = Random::new("others_are_spared");

        for (scanned, priority) in every([0, 1, 8, 31, 32, 4096], 0..=12) {
            for size in [0, 1023, 1024] {
                let has_more = |reclaimed, waiting| {
                    has_more(&mem_cgroup_excess_pass {
                        scanned,
                        reclaimed,
                        waiting,
                        wanted: 1024,
                        size,
                        priority,
                    })
                };
                let is_early = priority >= 10;
                let is_unknown = is_early && scanned < 32 && size == 1024;
                let found = [
                    has_more(0, 0),
                    has_more(scanned / 8, 0),
                    has_more(0, scanned),
                    has_more(scanned, 0),
                ];
                let expected = [
                    is_unknown,
                    is_unknown,
                    is_unknown || is_early && scanned > 0,
                    is_unknown || priority >= 2 && scanned > 0,
                ];

                random.check(
                    found == expected,
                    priority as u32,
                    fmt!("of {scanned} of {size}: {found:?}"),
                )?;
            }
        }
        Ok(())
    }

    /// A lower priority, fewer pages reclaimed and more wanted never make a second pass needless.
    #[test]
    fn second_pass_is_monotone() -> Result {
        const PAGES: [usize; 12] = [0, 1, 2, 4, 7, 31, 32, 33, 192, 1535, 1536, 70_000];
        let random = Random::new("second_pass_is_monotone");

        for (scanned, reclaimed) in every(PAGES, PAGES) {
            for (waiting, wanted) in every(PAGES, PAGES) {
                if reclaimed.saturating_add(waiting) > scanned {
                    continue;
                }
                for priority in 0..=12 {
                    let pass = |reclaimed, wanted, priority| {
                        is_in_vain(&mem_cgroup_excess_pass {
                            scanned,
                            reclaimed,
                            waiting,
                            wanted,
                            size: 0,
                            priority,
                        })
                    };

                    if !pass(reclaimed, wanted, priority) {
                        continue;
                    }
                    let is_monotone = pass(reclaimed / 2, wanted, priority)
                        && pass(reclaimed, wanted, priority - 1)
                        && pass(reclaimed, wanted * 2, priority);

                    random.check(
                        is_monotone,
                        priority as u32,
                        fmt!("{reclaimed} of {scanned}, {waiting} wait, {wanted} wanted"),
                    )?;
                }
            }
        }
        Ok(())
    }
}
