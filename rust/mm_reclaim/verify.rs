// SPDX-License-Identifier: GPL-2.0

//! The oracle: holds the map of a memcg against what the shrinkers say.
//!
//! For debugging, with `CONFIG_MEMCG_SHRINKER_RUST_VERIFY` and the boot parameter `mm_reclaim=`;
//! nothing of it is left without.

use kernel::{
    bindings,
    sync::rcu,
    time::{
        delay::fsleep,
        Delta, //
    }, //
};

use crate::{
    memcg::{
        self,
        MemCgroup,
        MemCgroupMap, //
    },
    reclaimable::HasLru,
    shrinker::{
        Target,
        SHRINKERS, //
    },
    shrinker_id::ShrinkerId,
    sys::{
        self,
        Node, //
    }, //
};

/// How often, a millisecond apart, a suspicious count is looked at again.
const PATIENCE: u32 = 100;

/// Returns whether the maps are in doubt, so that no memcg may be passed over.
pub(crate) fn is_on() -> bool {
    sys::mode() != bindings::mm_reclaim_mode_MM_RECLAIM_MAPS
}

/// Returns whether the maps are to be ignored.
pub(crate) fn is_exhaustive() -> bool {
    sys::mode() == bindings::mm_reclaim_mode_MM_RECLAIM_EXHAUSTIVE
}

/// Warns about every shrinker that has objects of the memcg though its bit is clear, and about a
/// memcg that is not listed though it has a bit.
///
/// May sleep. Slow: asks all shrinkers.
pub(crate) fn check(target: &Target<'_>, map: &MemCgroupMap<'_>) {
    if sys::mode() == bindings::mm_reclaim_mode_MM_RECLAIM_VERIFY {
        compare(target, map);
    }
}

/// Warns about a memcg that has pages on a node, but is not listed there. May sleep.
pub(crate) fn check_lru(memcg: &MemCgroup, node: Node) {
    if sys::mode() == bindings::mm_reclaim_mode_MM_RECLAIM_VERIFY
        && !memcg.is_root()
        && lasts(|| !memcg.has_lru_bit(node) && !memcg.lru_is_empty(node) && memcg.is_online())
    {
        memcg.warn_lru_unlisted(node);
    }
}

/// Does what [`check`] does, whatever the mode.
pub(crate) fn compare(target: &Target<'_>, map: &MemCgroupMap<'_>) {
    // Without kernel memory accounting, a shrinker counts the objects of all memcgs for each of
    // them, whether or not it has some of this one.
    if memcg::is_kmem_disabled() {
        return;
    }
    for id in SHRINKERS.iter() {
        check_one(target, map, id);
    }
    if !target.memcg.is_root() {
        check_listed(target, map);
    }
}

fn check_one(target: &Target<'_>, map: &MemCgroupMap<'_>, id: ShrinkerId) {
    let shrinker = {
        let guard = rcu::read_lock();
        SHRINKERS.get(id, &guard).and_then(|s| s.try_get())
    };
    let Some(shrinker) = shrinker else {
        return;
    };

    // An object is counted before its bit is set, and a group that goes offline loses its bits
    // before its objects.
    let is_missing = || !map.is_set(id) && !map.is_stray(id);
    let is_wrong = || is_missing() && shrinker.count(target) != 0 && target.memcg.is_online();

    if lasts(is_wrong) {
        shrinker.warn_not_empty(target, shrinker.count(target));
    }
}

fn check_listed(target: &Target<'_>, map: &MemCgroupMap<'_>) {
    // The bit is set after the summary.
    if lasts(|| !map.is_listed() && map.must_be_listed()) {
        target.memcg.warn_unlisted(target.node);
    }
}

/// Returns whether something is wrong every time: what passes is not.
fn lasts(is_wrong: impl Fn() -> bool) -> bool {
    for _ in 0..PATIENCE {
        if !is_wrong() {
            return false;
        }
        fsleep(Delta::from_millis(1));
    }
    true
}
