// SPDX-License-Identifier: GPL-2.0

//! Soft limits: which groups use more memory than they should when memory is short.
//!
//! Reclaim first takes from groups in excess and from what is below them, and from everybody only
//! if that doesn't help. The predicate and the two passes are those of the series "soft limit
//! rework" of 2013; there, however, only the group that was charged was looked at, so that a parent
//! that was in excess through its children was never found.
//!
//! A group that is in excess is marked. Each group counts the marked ones below it, so that a walk
//! passes over a subtree without any. Whoever changes a mark, by an atomic exchange, changes the
//! counts: so these are exact when nothing changes. Marked groups are listed in a bitmap, too, for
//! the walk of all groups: see [`excess_walk`](crate::excess_walk).

use kernel::{
    bindings,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

use crate::{
    bits::AtomicBits,
    iter::Verdict,
    layout::mirrors,
    memcg_bitmap::{
        MemcgBitmap,
        Numbered, //
    }, //
};

/// What is known of the excess of one group. Valid when it is zeroed.
///
/// Part of `struct mem_cgroup`, as `struct soft_limit_state`.
#[repr(C)]
pub(crate) struct Excess {
    flags: AtomicBits,
    /// How many descendants are marked. Only while marks change it may be too low.
    nr_below: Atomic<isize>,
}

mirrors!(Excess is bindings::soft_limit_state {
    flags: flags,
    nr_below: nr_below,
});

/// Flag: the group uses more than its soft limit.
const IN_EXCESS: u32 = 0;
/// Flag: the group went offline, and is not marked any more.
const CLOSED: u32 = 1;

/// How often the usage is read again, at most, if it crosses the limit all the time.
const TRIES: u32 = 4;

impl Excess {
    /// Creates a state without excess, as it is in zeroed memory.
    #[cfg(CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST)]
    pub(crate) const fn new() -> Self {
        use crate::bits::Bits;

        Self {
            flags: AtomicBits::new(Bits::NONE),
            nr_below: Atomic::new(0),
        }
    }

    /// Returns whether the group is marked.
    #[inline]
    pub(crate) fn is_marked(&self) -> bool {
        self.flags.test(IN_EXCESS)
    }

    /// Reads the number of descendants that are marked.
    #[inline]
    pub(crate) fn nr_below(&self) -> isize {
        self.nr_below.load(Relaxed)
    }
}

/// A group with a soft limit.
pub(crate) trait Limited: Numbered {
    /// Returns what is known of its excess.
    fn excess(&self) -> &Excess;

    /// Returns whether the group uses more than its soft limit right now.
    fn exceeds(&self) -> bool;

    /// Returns the parent, which exists as long as `self` does.
    fn parent(&self) -> Option<&Self>;

    /// Returns the list of marked groups. It may have others.
    fn excess_bitmap(&self) -> &MemcgBitmap;
}

/// Iterates over a group and its ancestors.
pub(crate) fn path<G: Limited>(group: &G) -> impl Iterator<Item = &G> {
    core::iter::successors(Some(group), |group| group.parent())
}

/// Brings the marks of a group and its ancestors up to date.
///
/// Called when usage or limit may have changed; a change that must not be lost is fully ordered
/// before the call, as that of a page counter is. Does not sleep; interrupts may be off. Takes as
/// many steps as there are ancestors, and that many for each mark that changes.
pub(crate) fn update<G: Limited>(group: &G) {
    path(group).for_each(update_one);
}

fn update_one<G: Limited>(group: &G) {
    let excess = group.excess();

    for _ in 0..TRIES {
        let exceeds = group.exceeds();

        if exceeds == excess.is_marked() || excess.flags.test(CLOSED) {
            return;
        }
        // ORDERING: Fully ordered before usage and limit are read again. Of two that update the
        // same group, the one that changes the mark last sees what the other one saw, unless the
        // tries are used up: then the mark may be wrong until the next update.
        if !exceeds {
            unmark(group);
        } else if !excess.flags.set(IN_EXCESS) {
            add_above(group, 1);
            // ORDERING: The mark was set before, fully ordered; pairs with `unlist`.
            if let Some(id) = group.listed_id() {
                group.excess_bitmap().set(id);
            }
            // Both flags are in one word: so either the mark is seen here to come too late, or
            // whoever closes finds it.
            if excess.flags.test(CLOSED) {
                unmark(group);
            }
        }
    }
}

fn unmark<G: Limited>(group: &G) {
    if group.excess().flags.clear(IN_EXCESS) {
        add_above(group, -1);
    }
}

fn add_above<G: Limited>(group: &G, nr: isize) {
    path(group)
        .skip(1)
        .for_each(|above| above.excess().nr_below.add(nr, Relaxed));
}

/// Takes the mark of a group that goes offline away for good. Does not sleep.
pub(crate) fn close<G: Limited>(group: &G) {
    group.excess().flags.set(CLOSED);
    unmark(group);
}

/// Says whether reclaim of `root` takes from `group`, which is `root` or below, in its first pass.
pub(crate) fn verdict<G: Limited>(group: &G, root: &G) -> Verdict {
    for above in path(group) {
        if above.excess().is_marked() {
            return Verdict::Visit;
        }
        if core::ptr::eq(above, root) {
            break;
        }
    }
    if group.excess().nr_below() > 0 {
        Verdict::Skip
    } else {
        Verdict::SkipTree
    }
}

/// Returns whether there is anybody for a first pass to take from.
pub(crate) fn has_first_pass<G: Limited>(root: &G) -> bool {
    verdict(root, root) != Verdict::SkipTree
}

/// What came of a first pass, in pages.
pub(crate) struct FirstPass {
    pub(crate) scanned: usize,
    pub(crate) reclaimed: usize,
    /// The priority of reclaim: the lower, the more pages are scanned.
    pub(crate) priority: i32,
    /// Whether every group was to be visited, because a walk that ended early was not enough.
    pub(crate) is_full_walk: bool,
}

impl FirstPass {
    /// Returns whether reclaim must take from everybody.
    ///
    /// Also where groups in excess have much to scan but nothing that can be reclaimed: or else
    /// they would drive the system out of memory.
    pub(crate) fn is_in_vain(&self) -> bool {
        const URGENT: i32 = bindings::DEF_PRIORITY as i32 - 2;
        let is_urgent = self.priority < URGENT || self.is_full_walk;

        self.scanned == 0 || (self.reclaimed == 0 && is_urgent)
    }
}
