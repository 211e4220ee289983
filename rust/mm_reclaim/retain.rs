// SPDX-License-Identifier: GPL-2.0

//! Page cache that outlives the limit of its group.
//!
//! A group at its limit evicts page cache, however much memory of the machine nobody uses, and
//! reads it again. A group may ask for something else: what it evicts is charged to another group,
//! the *pool*, and stays in the page cache. Whoever uses it next is charged for it. When a node
//! gets short of memory, what is in the pool goes before anything else.
//!
//! The idea is that of "mm: Reduce IO by improving algorithm of memcg pagecache pages eviction"
//! (Kirill Tkhai, 2019), where such pages were charged to nobody.

use kernel::{
    bindings,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

use crate::{
    iter::{
        path,
        HasParent, //
    },
    layout::{
        mirrors,
        Mirrors, //
    },
    retain::debt::Debt, //
};

pub(crate) mod debt;

/// Whether page cache of a group may be retained, as far as one group says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Setting {
    /// It says nothing: those above it do.
    Unset,
    /// It may, and that of those below it.
    Allow,
    /// It must not, nor that of those below it.
    Deny,
}

impl Setting {
    /// Creates a setting from its number in C, if that is one.
    pub(crate) fn new(number: u32) -> Option<Self> {
        match number {
            bindings::MEMCG_RETAIN_UNSET => Some(Self::Unset),
            bindings::MEMCG_RETAIN_ALLOW => Some(Self::Allow),
            bindings::MEMCG_RETAIN_DENY => Some(Self::Deny),
            _ => None,
        }
    }

    /// Returns the number.
    pub(crate) fn get(self) -> u32 {
        match self {
            Self::Unset => bindings::MEMCG_RETAIN_UNSET,
            Self::Allow => bindings::MEMCG_RETAIN_ALLOW,
            Self::Deny => bindings::MEMCG_RETAIN_DENY,
        }
    }
}

/// A [`Setting`], by its number.
#[repr(transparent)]
struct AtomicSetting(Atomic<u32>);

impl Mirrors<u32> for AtomicSetting {}

/// Whether page cache of one group is retained. Valid when it is zeroed.
///
/// Part of `struct mem_cgroup`, as `struct memcg_retain`.
#[repr(C)]
pub(crate) struct RetainState {
    /// If it is the pool, whether it is of use.
    debt: Debt,
    /// What was written for the group.
    own: AtomicSetting,
}

mirrors!(RetainState is bindings::memcg_retain {
    debt: debt,
    own: own,
});

impl RetainState {
    /// Creates the state of a group for which nothing was written, as it is in zeroed memory.
    #[cfg(CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST)]
    pub(crate) const fn new() -> Self {
        Self {
            debt: Debt::new(),
            own: AtomicSetting(Atomic::new(bindings::MEMCG_RETAIN_UNSET)),
        }
    }

    /// Returns what was written for the group.
    pub(crate) fn setting(&self) -> Setting {
        // Relaxed: nothing else is read by way of it. Who still sees the setting before that
        // retains, or frees, one batch more.
        Setting::new(self.own.0.load(Relaxed)).unwrap_or(Setting::Deny)
    }

    /// Notes what is written for the group.
    pub(crate) fn set(&self, setting: Setting) {
        self.own.0.store(setting.get(), Relaxed);
    }

    /// Returns whether the pool is of use, if the group is that.
    pub(crate) fn debt(&self) -> &Debt {
        &self.debt
    }
}

/// A group that can ask for its page cache to be retained.
pub(crate) trait HasRetain: HasParent {
    /// Returns what is known of that.
    fn retain(&self) -> &RetainState;
}

/// Returns whether what a group evicts may be retained: it, or one above it, allows it, and none of
/// these denies it.
pub(crate) fn may_retain<G: HasRetain>(group: &G) -> bool {
    let mut is_allowed = false;

    for group in path(group) {
        match group.retain().setting() {
            Setting::Unset => {}
            Setting::Allow => is_allowed = true,
            Setting::Deny => return false,
        }
    }
    is_allowed
}

/// The pages of a node.
#[derive(Clone, Copy)]
pub(crate) struct NodePages {
    /// Those that are free.
    pub(crate) free: usize,
    /// Up to how many kswapd frees.
    pub(crate) high: usize,
    /// All that the page allocator has.
    pub(crate) managed: usize,
}

impl NodePages {
    /// Of the managed pages, the part that stays free above the watermark: a burst of allocations
    /// gets it while reclaim begins to take from the pool.
    const RESERVE_SHIFT: u32 = 5;

    /// Returns how many pages are to be free for anything to be retained.
    fn wanted(self) -> usize {
        self.high
            .saturating_add(self.managed >> Self::RESERVE_SHIFT)
    }

    /// Returns how many pages may be retained until the node has too few free ones.
    pub(crate) fn spare(self) -> usize {
        self.free.saturating_sub(self.wanted())
    }

    /// Returns how many pages the pool is to give back.
    pub(crate) fn lacking(self) -> usize {
        self.wanted().saturating_sub(self.free)
    }
}

/// What is known of a folio: a word of `MEMCG_RETAIN_FOLIO_*`.
#[derive(Clone, Copy)]
pub(crate) struct Folio(pub(crate) u32);

impl Folio {
    /// Without which it is nothing to be retained.
    const NEEDED: u32 = bindings::MEMCG_RETAIN_FOLIO_ASKED | bindings::MEMCG_RETAIN_FOLIO_UPTODATE;
    /// With which it is used, or about to be written: its memcg must not change.
    const BUSY: u32 = bindings::MEMCG_RETAIN_FOLIO_MAPPED
        | bindings::MEMCG_RETAIN_FOLIO_DIRTY
        | bindings::MEMCG_RETAIN_FOLIO_WRITEBACK;
    /// With which reclaim had better free it.
    const UNWANTED: u32 = bindings::MEMCG_RETAIN_FOLIO_DROPPED
        | bindings::MEMCG_RETAIN_FOLIO_POISONED
        | bindings::MEMCG_RETAIN_FOLIO_POOLED;

    fn has_all(self, bits: u32) -> bool {
        self.0 & bits == bits
    }

    fn has_any(self, bits: u32) -> bool {
        self.0 & bits != 0
    }
}

/// Why a folio is not retained.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// It is none of those for which it was asked.
    Unfit,
    /// The node has too little free memory.
    Watermark,
    /// The pool is full.
    Cap,
    /// Somebody uses it.
    Busy,
    /// The group at its limit holds too many inodes and the like.
    Slab,
    /// The pool takes but a sample, as it is in [`debt`].
    Unused,
}

/// How much a pass of reclaim may retain.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    /// How many pages, until the node has too little free memory.
    pub(crate) spare: usize,
    /// How many, until the pool is full.
    pub(crate) margin: usize,
    /// Whether [`is_burden`] holds for the group at its limit.
    pub(crate) is_burdened: bool,
    /// Whether the pool takes nothing of this pass: see [`Debt::takes_next`].
    pub(crate) is_unused: bool,
}

/// Decides whether a folio of so many pages, which reclaim of a limit is about to free, is
/// retained instead.
pub(crate) fn judge(folio: Folio, pages: usize, room: Room) -> Result<(), Refusal> {
    if !folio.has_all(Folio::NEEDED) || folio.has_any(Folio::UNWANTED) {
        Err(Refusal::Unfit)
    } else if folio.has_any(Folio::BUSY) {
        Err(Refusal::Busy)
    } else if room.is_unused {
        Err(Refusal::Unused)
    } else if room.is_burdened {
        Err(Refusal::Slab)
    } else if pages > room.spare {
        Err(Refusal::Watermark)
    } else if pages > room.margin {
        Err(Refusal::Cap)
    } else {
        Ok(())
    }
}

/// Returns whether too many of the pages of a group at its limit, which has `usage`, are slab that
/// only shrinkers free.
///
/// Inodes, and the nodes in which the page cache finds its folios, stay charged to whoever brought
/// them in, and can't be freed before their pages are: without a bound, a group that is retained
/// from fills its limit with them. Most are not known to be of that kind: this counts them all.
pub(crate) fn is_burden(slab: usize, usage: usize) -> bool {
    slab > usage / 4
}

/// How many pages reclaim takes at a time.
const CLUSTER: usize = bindings::SWAP_CLUSTER_MAX as usize;

/// Returns how many pages are evicted from the pool, which has `pooled`, for a group that has
/// `usage` and can't be kept within its limit.
///
/// Which of them free its slab isn't known. Whoever is charged comes back until there is room, or
/// the pool has nothing more to give.
pub(crate) fn relief(slab: usize, usage: usize, pooled: usize) -> usize {
    if slab > usage / 8 {
        pooled.div_ceil(8)
    } else {
        0
    }
}

/// Returns how many of so many pages are evicted before it is seen whether they were of use: that
/// takes a grace period, and others lose them.
pub(crate) fn relief_step(pages: usize) -> usize {
    const LEAST: usize = 256 * CLUSTER;

    pages.div_ceil(16).max(LEAST).min(pages)
}

/// Decides whether who uses a folio of the pool is charged for it. Else it stays there, and is
/// used all the same, as page cache of other groups is.
pub(crate) fn charges_user(folio: Folio, user_is_pool: bool) -> bool {
    folio.has_any(bindings::MEMCG_RETAIN_FOLIO_POOLED)
        && !folio.has_any(Folio::BUSY)
        && !user_is_pool
}

/// Returns how many pages leave a pool that has `usage`, and can't have more than `margin` beyond
/// that, so that what comes next finds room: few enough for it to stay nearly full, and enough to
/// last until there is more, for whoever reads meanwhile.
///
/// If a group above the pool is full, others below that take the room, and the pool gives way.
pub(crate) fn makes_room(usage: usize, margin: usize) -> usize {
    const PART: usize = 64;
    const LEAST: usize = 1024;

    // As much again as is looked for.
    let room = (usage / PART).max(LEAST.min(usage / 8));

    if margin < room / 2 {
        room
    } else {
        0
    }
}

/// Returns whether the search for `wanted` pages of the pool that can be freed goes on: not if it
/// finds next to none, as all that is in the pool is used at the moment.
///
/// Others lose pages if it ends too early: even one that wants little looks at some more.
pub(crate) fn goes_on(wanted: usize, scanned: usize, reclaimed: usize) -> bool {
    const LEAST: usize = 256;

    reclaimed < wanted && scanned < wanted.max(LEAST).saturating_mul(4)
}

/// Returns how many pages kswapd takes from the pool at a time on a node that lacks so many: the
/// next ones who allocate find these; but it may have to freeze, or be done already.
pub(crate) fn batch(lacking: usize) -> usize {
    lacking.clamp(CLUSTER, 32 * CLUSTER)
}

/// Returns in how many milliseconds a node is looked at again that has `spare` pages: before they
/// are gone, and it lacks some, at 2 GiB a second in pages of 4 KiB, which is about as fast as a
/// CPU takes them. Where there is nothing to spare, that is soon enough for the reserve to last.
pub(crate) fn next_look(spare: usize) -> u32 {
    (spare / 512).clamp(50, 1000) as u32
}
