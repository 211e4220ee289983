// SPDX-License-Identifier: GPL-2.0

//! Whose page cache outlives a limit, and how much of it, without memcgs and folios.

use kernel::{
    bindings,
    prelude::*, //
};

use super::{
    hierarchy::{
        every_hierarchy,
        TestGroup, //
    },
    random::Random, //
};
use crate::retain::{
    batch,
    charges_user,
    debt::Debt,
    goes_on,
    is_burden,
    judge,
    makes_room,
    may_retain,
    next_look,
    relief,
    relief_step,
    Folio,
    HasRetain,
    NodePages,
    Refusal,
    RetainState,
    Room,
    Setting, //
};

/// In which a page can be retained.
const ROOM: Room = Room {
    spare: 1,
    margin: 1,
    is_burdened: false,
    is_unused: false,
};

const SETTINGS: [Setting; 3] = [Setting::Unset, Setting::Allow, Setting::Deny];

impl HasRetain for TestGroup {
    fn retain(&self) -> &RetainState {
        &self.retain
    }
}

/// Returns whether a group's page cache may be retained, by the settings of all: somebody on its
/// path allows it, and nobody denies it.
fn expected(groups: &[TestGroup], at: usize) -> bool {
    let path = || {
        (0..=at)
            .filter(|&above| at < groups[above].end)
            .map(|above| groups[above].retain().setting())
    };

    path().any(|setting| setting == Setting::Allow)
        && !path().any(|setting| setting == Setting::Deny)
}

fn check(random: &Random, step: u32, groups: &[TestGroup]) -> Result {
    for (at, group) in groups.iter().enumerate() {
        let (found, expected) = (may_retain(group), expected(groups, at));

        random.check(
            found == expected,
            step,
            fmt!("group {at} may retain: {found}"),
        )?;
    }
    Ok(())
}

/// Gives all groups every combination of settings, a digit of `step` each.
fn every_combination(groups: &[TestGroup], random: &Random) -> Result {
    let steps = (0..groups.len()).fold(1u32, |steps, _| steps * SETTINGS.len() as u32);

    for step in 0..steps {
        let mut digits = step as usize;

        for group in groups {
            group.retain().set(SETTINGS[digits % SETTINGS.len()]);
            digits /= SETTINGS.len();
        }
        check(random, step, groups)?;
    }
    Ok(())
}

/// How many of `offers` passes a pool takes.
fn taken(debt: &Debt, offers: usize, pooled: usize) -> usize {
    (0..offers).filter(|_| debt.takes_next(pooled)).count()
}

/// How many of the pages that are read a pool of `size` pages has, if so many are read in turn,
/// again and again, and it takes what its debt says, or all.
fn hits_of_rounds(size: usize, read: usize, rounds: usize, has_debt: bool) -> Result<usize> {
    const PASS: usize = 32;
    let debt = Debt::new();
    // When each page came, counted from 1; and the order of those that did.
    let mut came = VVec::from_elem(0usize, read, GFP_KERNEL)?;
    let mut order = VVec::with_capacity(read * rounds, GFP_KERNEL)?;
    let (mut oldest, mut pooled, mut hits, mut takes) = (0, 0, 0, true);

    for at in 0..read * rounds {
        let page = at % read;

        if came[page] != 0 {
            came[page] = 0;
            pooled -= 1;
            hits += 1;
            debt.used(1, pooled);
        }
        if at % PASS == 0 {
            takes = !has_debt || debt.takes_next(pooled);
        }
        if !takes {
            continue;
        }
        while pooled == size {
            let old: usize = order[oldest];

            oldest += 1;
            if came[old] == oldest {
                came[old] = 0;
                pooled -= 1;
                debt.evicted(1, pooled);
            }
        }
        order.push(page, GFP_KERNEL)?;
        came[page] = order.len();
        pooled += 1;
    }
    Ok(hits)
}

#[kunit_tests(mm_reclaim_retain)]
mod tests {
    use super::*;

    /// Every hierarchy of up to five groups, with every combination of settings.
    #[test]
    fn small_hierarchies() -> Result {
        let random = Random::new("small_hierarchies");

        every_hierarchy(5, |groups| every_combination(&groups, &random))
    }

    /// Numbers that stand for no setting.
    #[test]
    fn numbers() {
        for number in [3, 0x100, u32::MAX] {
            assert!(Setting::new(number).is_none());
        }
        for setting in SETTINGS {
            assert!(Setting::new(setting.get()) == Some(setting));
        }
    }

    /// Everything that can be known of a folio.
    #[test]
    fn folios() {
        const ASKED: u32 = bindings::MEMCG_RETAIN_FOLIO_ASKED;
        const UPTODATE: u32 = bindings::MEMCG_RETAIN_FOLIO_UPTODATE;
        const MAPPED: u32 = bindings::MEMCG_RETAIN_FOLIO_MAPPED;
        const DIRTY: u32 = bindings::MEMCG_RETAIN_FOLIO_DIRTY;
        const WRITEBACK: u32 = bindings::MEMCG_RETAIN_FOLIO_WRITEBACK;
        const POOLED: u32 = bindings::MEMCG_RETAIN_FOLIO_POOLED;

        for facts in 0..2 * POOLED {
            let (folio, is_used) = (Folio(facts), facts & (MAPPED | DIRTY | WRITEBACK) != 0);
            let found = judge(folio, 1, ROOM);

            // Of all, one that is clean, and others may use.
            assert_eq!(found.is_ok(), facts == ASKED | UPTODATE);
            if is_used {
                assert!(found == Err(Refusal::Busy) || found == Err(Refusal::Unfit));
            }
            // Never both: what is given to the pool isn't in it.
            assert!(found.is_err() || !charges_user(folio, false));
            assert_eq!(charges_user(folio, false), facts & POOLED != 0 && !is_used);
            assert!(!charges_user(folio, true));
        }
    }

    /// A folio that could be retained, and what there is for it.
    #[test]
    fn refusals() {
        const FIT: Folio =
            Folio(bindings::MEMCG_RETAIN_FOLIO_ASKED | bindings::MEMCG_RETAIN_FOLIO_UPTODATE);

        for spare in [0, 511, 512, 513] {
            for margin in [0, 511, 512, 513] {
                for is_burdened in [false, true] {
                    let expected = match (is_burdened, spare < 512, margin < 512) {
                        (true, _, _) => Err(Refusal::Slab),
                        (false, true, _) => Err(Refusal::Watermark),
                        (false, false, true) => Err(Refusal::Cap),
                        (false, false, false) => Ok(()),
                    };
                    let room = Room {
                        spare,
                        margin,
                        is_burdened,
                        is_unused: false,
                    };

                    assert_eq!(judge(FIT, 512, room), expected);
                    // Whatever else there is, and not what others use.
                    let room = Room {
                        is_unused: true,
                        ..room
                    };
                    assert_eq!(judge(FIT, 512, room), Err(Refusal::Unused));
                    assert_eq!(judge(Folio(0), 512, room), Err(Refusal::Unfit));
                }
            }
        }
    }

    /// Who has no more slab than others at its limit is retained from, and not relieved.
    #[test]
    fn slab() {
        for usage in [0, 1, 7, 8, 5120, 1 << 40, usize::MAX] {
            assert!(!is_burden(usage / 4, usage));
            assert!(is_burden(usage / 4 + 1, usage));
            assert_eq!(relief(usage / 8, usage, usize::MAX), 0);
            // What still is retained from may have to be relieved, when the limit gets lower.
            assert!(relief(usage / 4 + 1, usage, 1000) > 0);
        }
        // A pool gets empty, some at a time, and one that is so stays that.
        let mut pooled: usize = 1 << 20;
        for _ in 0..400 {
            pooled -= relief(1, 0, pooled);
        }
        assert_eq!(pooled, 0);
        // And it takes at most sixteen steps for each part of it.
        for some in [0, 1, 8191, 8192, 8193, 1 << 20, usize::MAX] {
            let step = relief_step(some);
            assert!(step <= some && some - step <= some.div_ceil(16) * 15);
            assert!(some == 0 || step > 0);
        }
        assert_eq!(relief_step(1 << 20), 1 << 16);
    }

    /// What is retained is never so much that it is asked back at once, and what is given back is
    /// never so much that more could be retained.
    #[test]
    fn nodes() {
        const SIZES: [usize; 7] = [0, 1, 31, 32, 1000, 1 << 20, usize::MAX];

        for free in SIZES {
            for high in SIZES {
                for managed in SIZES {
                    let node = NodePages {
                        free,
                        high,
                        managed,
                    };
                    let (spare, lacking) = (node.spare(), node.lacking());

                    assert!(spare == 0 || lacking == 0);
                    assert!(spare <= free);
                    assert_eq!(
                        NodePages {
                            free: free - spare,
                            ..node
                        }
                        .lacking(),
                        lacking
                    );
                    if let Some(free) = free.checked_add(lacking) {
                        assert_eq!(NodePages { free, ..node }.lacking(), 0);
                        assert_eq!(NodePages { free, ..node }.spare(), spare);
                    }
                }
            }
        }
    }

    /// A pool that has room loses nothing; one that is full neither all nor too little.
    #[test]
    fn room() {
        for usage in [0, 1, 15, 16, 128, 1000, 1 << 13, 1 << 20, usize::MAX] {
            let room = makes_room(usage, 0);

            assert!(room <= usage / 8 && room <= 1024.max(usage / 64));
            assert_eq!(makes_room(usage, usage), 0);
            if usage >= 16 {
                assert!(room > 0);
                // What it gave is its margin, unless somebody else took it.
                assert_eq!(makes_room(usage - room, room), 0);
                assert!(makes_room(usage - room, 0) > 0 || usage - room < 16);
            }
        }
    }

    /// A search ends with what was wanted, or when most of what is found can't be freed.
    #[test]
    fn searches() {
        for wanted in [1, 32, 1 << 20, usize::MAX] {
            assert!(goes_on(wanted, 0, 0));
            assert!(!goes_on(wanted, wanted, wanted));
            assert!(!goes_on(wanted, usize::MAX, 0));
        }
        assert!(goes_on(32, 1023, 31));
        assert!(!goes_on(32, 1024, 31));
        assert!(goes_on(1024, 4095, 31));
        assert!(!goes_on(1024, 4096, 31));
        assert!(!goes_on(0, 0, 0));
    }

    /// A pool takes all until it has evicted, in vain, as much as it has; then one pass of
    /// seventeen, until something is used.
    #[test]
    fn debts() {
        // In pages: the smallest bound, and that of a larger one.
        for (pooled, most) in [(0, 8192), (8191, 8192), (1 << 20, (1 << 20) + 1)] {
            let debt = Debt::new();

            for _ in 0..most {
                assert!(debt.takes_next(pooled + 1));
                debt.evicted(1, pooled);
            }
            assert_eq!(taken(&debt, 170, pooled + 1), 10);
            // It doesn't get much worse than that.
            for _ in 0..most {
                debt.evicted(1, pooled);
            }
            debt.used(1, pooled);
            assert_eq!(taken(&debt, 170, pooled + 1), 170);
            debt.evicted(15, pooled);
            assert_eq!(taken(&debt, 170, pooled), 170);
            debt.evicted(2, pooled);
            assert_eq!(taken(&debt, 170, pooled), 10);
            // No credit
            debt.used(most, pooled);
            debt.used(most, pooled);
            debt.evicted(most, pooled);
            assert_eq!(taken(&debt, 170, pooled), 10);
            debt.forget();
            assert_eq!(taken(&debt, 170, pooled), 170);
        }
    }

    /// The debt of a pool that was larger is that of one of its size as soon as something is used.
    #[test]
    fn smaller_pools() {
        let debt = Debt::new();

        debt.evicted(1 << 20, 1 << 20);
        assert_eq!(taken(&debt, 170, 1 << 14), 10);
        debt.used(1, 1 << 14);
        assert_eq!(taken(&debt, 170, 1 << 14), 170);
        debt.evicted(17, 1 << 14);
        assert_eq!(taken(&debt, 170, 1 << 14), 10);
    }

    /// Each of those that take turns has a part of the sample.
    #[test]
    fn turns() {
        for among in [2, 3, 4, 8, 16] {
            let debt = Debt::new();
            let mut of_first = 0;

            debt.evicted(1 << 20, 0);
            for turn in 0..17 * among {
                let takes = debt.takes_next(0);

                of_first += usize::from(takes && turn % among == 0);
            }
            assert_eq!(of_first, 1);
        }
    }

    /// No number of pages makes a pool of use that isn't, or the other way round.
    #[test]
    fn large_debts() {
        let debt = Debt::new();

        debt.evicted(usize::MAX, usize::MAX);
        assert_eq!(taken(&debt, 17, usize::MAX), 17);
        for _ in 0..4 {
            debt.evicted(isize::MAX as usize, usize::MAX);
            assert_eq!(taken(&debt, 17, usize::MAX), 1);
        }
        debt.used(usize::MAX, usize::MAX);
        assert_eq!(taken(&debt, 17, usize::MAX), 17);
        assert_eq!(taken(&debt, 17, 0), 17);
    }

    /// Of more than a pool can hold that is read in turn, it has a part where it is in debt, and
    /// nothing where it takes all. Of less, it has all but for the first time.
    #[test]
    fn rounds() -> Result {
        // The smallest that has no bound of its own, and a larger one
        for size in [8192, 4 * 8192] {
            assert_eq!(hits_of_rounds(size, 2 * size, 8, false)?, 0);
            assert!(hits_of_rounds(size, 2 * size, 8, true)? > 2 * size);
            assert_eq!(hits_of_rounds(size, size, 8, true)?, 7 * size);
        }
        Ok(())
    }

    /// kswapd takes what is lacking, in parts, and it is looked again before there is too little.
    #[test]
    fn looks() {
        for (lacking, expected) in [(0, 32), (33, 33), (1024, 1024), (usize::MAX, 1024)] {
            assert_eq!(batch(lacking), expected);
        }
        for (spare, expected) in [(0, 50), (100 * 512, 100), (usize::MAX, 1000)] {
            assert_eq!(next_look(spare), expected);
        }
    }
}
