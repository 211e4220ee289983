// SPDX-License-Identifier: GPL-2.0

//! The entry points of soft limits.

use kernel::{
    bindings::{
        mem_cgroup,
        mem_cgroup_reclaim_cookie, //
    },
    ffi::{
        c_int,
        c_long,
        c_ulong, //
    },
    prelude::*, //
};

use super::iter::{
    is_uncharged_below,
    iter_next,
    top, //
};
use crate::{
    excess::{
        self,
        FirstPass,
        Limited, //
    },
    excess_walk::ExcessOrder,
    iter::Verdict,
    memcg::MemCgroup,
    stat::{
        self,
        Stat, //
    }, //
};

/// Brings up to date what is known of a memcg's excess, and of its ancestors', after usage or limit
/// changed. Does not sleep; interrupts may be off.
///
/// # Safety
///
/// `memcg` must be valid.
#[export]
pub(crate) unsafe extern "C" fn mem_cgroup_update_excess(memcg: *mut mem_cgroup) {
    // SAFETY: The memcg is valid.
    excess::update(unsafe { MemCgroup::from_raw(memcg) });
}

/// Forgets the excess of a memcg that goes offline. Does not sleep.
///
/// # Safety
///
/// `memcg` must be valid.
#[export]
pub(crate) unsafe extern "C" fn mem_cgroup_close_excess(memcg: *mut mem_cgroup) {
    // SAFETY: The memcg is valid.
    excess::close(unsafe { MemCgroup::from_raw(memcg) });
}

/// Returns whether a memcg or one below it exceeds its soft limit. Does not sleep.
///
/// # Safety
///
/// `root` must be null, for the root of all, or valid.
#[export]
pub(crate) unsafe extern "C" fn __mem_cgroup_has_excess(root: *mut mem_cgroup) -> bool {
    let root = top(root);

    // SAFETY: The root is valid, unless it is null.
    !root.is_null() && excess::has_first_pass(unsafe { MemCgroup::from_raw(root) })
}

/// Returns whether a pass over those in excess was in vain, so that another one over everybody must
/// follow.
#[export]
pub(crate) extern "C" fn mem_cgroup_excess_in_vain(
    scanned: c_ulong,
    reclaimed: c_ulong,
    priority: c_int,
    full_walk: bool,
) -> bool {
    let is_in_vain = FirstPass {
        scanned,
        reclaimed,
        priority,
        is_full_walk: full_walk,
    }
    .is_in_vain();

    stat::add(Stat::ExcessPasses, 1);
    if is_in_vain {
        stat::add(Stat::ExcessInVain, 1);
    }
    is_in_vain
}

/// Returns how many memcgs below this one exceed their soft limits, for debugfs and tests.
///
/// # Safety
///
/// `memcg` must be valid.
#[export]
pub(crate) unsafe extern "C" fn mem_cgroup_nr_excess(memcg: *mut mem_cgroup) -> c_long {
    // SAFETY: The memcg is valid.
    unsafe { MemCgroup::from_raw(memcg) }.excess().nr_below()
}

/// Returns whether a memcg exceeds its soft limit, for tests.
///
/// # Safety
///
/// `memcg` must be valid.
#[cfg(CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST)]
#[export]
pub(crate) unsafe extern "C" fn mem_cgroup_is_in_excess(memcg: *mut mem_cgroup) -> bool {
    // SAFETY: The memcg is valid.
    unsafe { MemCgroup::from_raw(memcg) }.excess().is_marked()
}

/// Walks the memcgs of a hierarchy that exceed their soft limits, and all below them:
/// `mem_cgroup_iter_charged` for the first pass of reclaim. May sleep.
///
/// # Safety
///
/// As for `mem_cgroup_iter_cond`.
#[export]
pub(crate) unsafe extern "C" fn mem_cgroup_iter_excess(
    root: *mut mem_cgroup,
    prev: *mut mem_cgroup,
    reclaim: *mut mem_cgroup_reclaim_cookie,
) -> *mut mem_cgroup {
    // SAFETY: As for this function; a walk that has begun has a root.
    unsafe {
        iter_next(
            root,
            prev,
            reclaim,
            MemCgroup::excess_iter,
            ExcessOrder,
            |memcg| {
                if is_uncharged_below(memcg, root) {
                    return Verdict::SkipTree;
                }
                excess::verdict(memcg, MemCgroup::from_raw(top(root)))
            },
        )
    }
}
