// SPDX-License-Identifier: GPL-2.0

//! Soft limits: which groups use more memory than they should when memory is short.
//!
//! Reclaim first takes from groups in excess and from what is below them, and from the others only
//! if that is not enough. The predicate and the two passes are those of the series "soft limit
//! rework" of 2013; there, however, only the group that was charged was looked at, so that a parent
//! that was in excess through its children was never found.
//!
//! A group that is in excess is marked. Each group counts the marked ones below it, so that a walk
//! passes over a subtree without any. Whoever changes a mark, by an atomic exchange, changes the
//! counts: so these are exact when nothing changes. Marked groups are listed in a bitmap, too, for
//! the walk of all groups: see [`walk`].

use kernel::{
    bindings::{
        self,
        mem_cgroup_excess_pass, //
    },
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

use crate::{
    bits::AtomicBits,
    iter::{
        path,
        HasParent,
        Verdict, //
    },
    layout::mirrors,
    memcg_bitmap::{
        HasMemcgId,
        MemcgBitmap, //
    },
    sys::Node, //
};

pub(crate) mod walk;

/// What is known of the excess of one group. Valid when it is zeroed.
///
/// Part of `struct mem_cgroup`, as `struct soft_limit_state`.
#[repr(C)]
pub(crate) struct SoftLimitState {
    flags: AtomicBits,
    /// How many descendants are marked. Only while marks change it may be too low.
    nr_below: Atomic<isize>,
}

mirrors!(SoftLimitState is bindings::soft_limit_state {
    flags: flags,
    nr_below: nr_below,
});

/// Flag: the group uses more than its soft limit.
const IN_EXCESS: u32 = 0;
/// Flag: the group went offline, and is not marked any more.
const CLOSED: u32 = 1;

/// How often the usage is read again, at most, if it crosses the limit all the time.
const TRIES: u32 = 4;

impl SoftLimitState {
    /// Creates a state without excess, as it is in zeroed memory.
    #[cfg(CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST)]
    pub(crate) const fn new() -> Self {
        Self {
            flags: AtomicBits::new(),
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
pub(crate) trait HasSoftLimit: HasMemcgId + HasParent {
    /// Returns what is known of its excess.
    fn excess(&self) -> &SoftLimitState;

    /// Returns whether the group uses more than its soft limit right now.
    fn exceeds(&self) -> bool;

    /// Returns the list of marked groups. It may have others.
    fn excess_bitmap(&self) -> &MemcgBitmap;

    /// Returns where a walk that is shared on `node` remembers by which top it reached the group.
    fn excess_top(&self, node: Node) -> &Atomic<u32>;
}

/// Brings the marks of a group and its ancestors up to date.
///
/// Called when usage or limit may have changed; a change that must not be lost is fully ordered
/// before the call, as that of a page counter is. Does not sleep; interrupts may be off. Takes as
/// many steps as there are ancestors, and that many for each mark that changes.
pub(crate) fn update<G: HasSoftLimit>(group: &G) {
    path(group).for_each(update_one);
}

fn update_one<G: HasSoftLimit>(group: &G) {
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

fn unmark<G: HasSoftLimit>(group: &G) {
    if group.excess().flags.clear(IN_EXCESS) {
        add_above(group, -1);
    }
}

fn add_above<G: HasSoftLimit>(group: &G, nr: isize) {
    path(group)
        .skip(1)
        .for_each(|above| above.excess().nr_below.add(nr, Relaxed));
}

/// Returns whether a group is on the list of marked ones.
pub(crate) fn is_listed<G: HasSoftLimit>(group: &G) -> bool {
    group
        .listed_id()
        .is_some_and(|id| group.excess_bitmap().contains(id))
}

/// Takes the mark of a group that goes offline away for good, and takes the group off the list. It
/// has its id still. Does not sleep.
pub(crate) fn close<G: HasSoftLimit>(group: &G) {
    group.excess().flags.set(CLOSED);
    unmark(group);

    // One that is being marked may be listed after this; a walk finds it there. All others a walk
    // need not look for.
    if let Some(id) = group.listed_id() {
        if group.excess_bitmap().contains(id) {
            group.excess_bitmap().clear(id);
        }
    }
}

/// Says whether reclaim of `root` takes from `group`, which is `root` or below, in its first pass.
pub(crate) fn verdict<G: HasSoftLimit>(group: &G, root: &G) -> Verdict {
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

/// Returns whether there is anybody for a first pass below `root` to take from, before others.
///
/// If `root` is in excess itself, so is everybody below it, and nobody comes first.
pub(crate) fn has_first_pass<G: HasSoftLimit>(root: &G) -> bool {
    root.excess().nr_below() > 0 && !root.excess().is_marked()
}

/// From this priority on, nothing is urgent yet.
const EARLY: i32 = bindings::DEF_PRIORITY as i32 - 2;
/// What reclaim takes for progress: more than the pages that it scans, shifted right by this, as in
/// `consider_reclaim_throttle()`.
const PROGRESS: u32 = 3;

/// Returns whether reclaim must take from the others, too, after a pass over those in excess.
///
/// Not if there is as much as was wanted. A pass that has less will do if it made progress, and if
/// that was enough for its priority: it scanned a part of the pages in excess, and is held to the
/// same part of what is wanted. So groups in excess have reclaim to themselves as long as they have
/// what it wants, and at the end, where everything is scanned, only if they gave it.
///
/// While nothing is urgent, pages that wait to be written count as if they were reclaimed.
pub(crate) fn is_in_vain(pass: &mem_cgroup_excess_pass) -> bool {
    let wanted = pass.wanted.max(1);
    let progress = pass.scanned >> PROGRESS;
    let is_early = pass.priority >= EARLY;

    if pass.reclaimed >= wanted {
        return false;
    }
    let found = if is_early {
        pass.reclaimed.saturating_add(pass.waiting)
    } else {
        pass.reclaimed
    };
    let priority = pass.priority.max(0).unsigned_abs();

    found <= progress || found < wanted.checked_shr(priority).unwrap_or(0)
}

/// The last priority at which somebody may have more: a quarter of the pages was scanned.
const LATE: i32 = 2;
/// Fewer pages than this tell nothing of the others: direct reclaim wants as many.
const GLANCE: usize = 32;

/// Returns whether those in excess will have more at the next priority, after a pass that was in
/// vain. Then the anonymous memory of the others is left alone: their page cache will do.
///
/// So it is as long as they made progress, and while nothing is urgent, if they have as much as is
/// wanted and next to nothing of it was scanned.
pub(crate) fn has_more(pass: &mem_cgroup_excess_pass) -> bool {
    let progress = pass.scanned >> PROGRESS;

    if pass.priority < EARLY {
        return pass.priority >= LATE && pass.reclaimed > progress;
    }
    pass.scanned < GLANCE && pass.size >= pass.wanted
        || pass.reclaimed.saturating_add(pass.waiting) > progress
}
