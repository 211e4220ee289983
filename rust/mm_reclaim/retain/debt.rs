// SPDX-License-Identifier: GPL-2.0

//! Whether a pool is of use: what it evicts that nobody used again is a debt, and what is used
//! again pays for it.
//!
//! Where nothing is read twice, each page is charged twice, and found by reclaim twice. And where
//! more is read in turn than the pool can hold, it evicts each page just before that is read. In
//! debt, the pool takes a sample: that costs next to nothing, and those stay for as long as many
//! times as much is read.
//!
//! That a cache takes in but a sample of what goes round in it is bimodal insertion, and that it is
//! to do so only while more misses is dynamic insertion: "Adaptive Insertion Policies for High
//! Performance Caching" (Qureshi, Jaleel, Patt, Steely and Emer, ISCA 2007).

use kernel::{
    bindings,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

use crate::layout::mirrors;

/// Of how many passes of reclaim a pool in debt takes one: a prime, as passes over nodes, and over
/// page cache and anonymous memory, take turns, and none may have all of the sample. It is also for
/// how many pages that were evicted one pays that is used: what is read from a disk costs more than
/// what goes through the pool.
const SAMPLE: usize = 17;

/// In pages, up to which debt the smallest of pools takes all: it may just have lost what it had.
const LEAST: usize = 8192;

/// What one pool evicted in vain, less what has been paid for. Valid when it is zeroed.
///
/// Part of `struct mem_cgroup`, as `struct memcg_retain_debt`. All are estimates: what is changed
/// at the same time may leave them beyond a bound by that much.
#[repr(C)]
pub(crate) struct Debt {
    /// In pages.
    pages: Atomic<isize>,
    /// Passes that were offered in debt, ever.
    offers: Atomic<usize>,
}

mirrors!(Debt is bindings::memcg_retain_debt {
    pages: pages,
    offers: offers,
});

impl Debt {
    /// Creates that of a pool that has not evicted anything, as it is in zeroed memory.
    #[cfg(CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST)]
    pub(crate) const fn new() -> Self {
        Self {
            pages: Atomic::new(0),
            offers: Atomic::new(0),
        }
    }

    /// Forgets what there was, as the pool is a new one.
    pub(crate) fn forget(&self) {
        self.pages.store(0, Relaxed);
    }

    /// Returns which debt is too much for a pool that has so many pages: as much as these.
    fn most(pooled: usize) -> isize {
        isize::try_from(pooled.max(LEAST)).unwrap_or(isize::MAX)
    }

    /// Notes that a pool that has `pooled` pages left has evicted some.
    pub(crate) fn evicted(&self, pages: usize, pooled: usize) {
        let most = Self::most(pooled.saturating_add(pages));

        // A quarter more, so that it is still too much when the room that was made is filled. The
        // bound itself is there as it would get larger for ever.
        if self.pages.load(Relaxed) < most.saturating_add(most / 4) {
            self.pages.add(isize::try_from(pages).unwrap_or(0), Relaxed);
        }
    }

    /// Notes that some pages of a pool are used that has `pooled` left.
    pub(crate) fn used(&self, pages: usize, pooled: usize) {
        let debt = self.pages.load(Relaxed);
        let paid = isize::try_from(pages.saturating_mul(SAMPLE)).unwrap_or(isize::MAX);
        // The first one counts, however large the pool was before. And there is no credit: what
        // once was of use says little of what is read now.
        let left = debt
            .min(Self::most(pooled))
            .saturating_sub(paid)
            .max(0)
            .min(debt);

        if left != debt {
            self.pages.add(left.wrapping_sub(debt), Relaxed);
        }
    }

    /// Returns whether a pool that has, and has room for, `size` pages takes what the next pass
    /// evicts.
    pub(crate) fn takes_next(&self, size: usize) -> bool {
        self.pages.load(Relaxed) < Self::most(size)
            || self.offers.fetch_add(1usize, Relaxed) % SAMPLE == 0
    }
}
