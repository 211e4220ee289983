// SPDX-License-Identifier: GPL-2.0

//! The entry points of soft limits.

use core::cell::Cell;
use kernel::{
    bindings::{
        mem_cgroup,
        mem_cgroup_excess_pass,
        mem_cgroup_reclaim_cookie, //
    },
    ffi::{
        c_long,
        c_uint, //
    },
    prelude::*,
    sync::atomic::Relaxed, //
};

use super::walk::{
    is_uncharged_below,
    iter_next,
    top, //
};
use crate::{
    iter::Verdict,
    memcg::MemCgroup,
    soft_limit::walk::{
        ExcessOrder,
        TopStore, //
    },
    soft_limit::{
        self,
        FirstPass,
        HasSoftLimit, //
    },
    sys::{
        self,
        Node,
        Stat, //
    }, //
};

/// Where the walk that reclaimers of a node share remembers its tops: in each memcg, as it goes on
/// from where another walker left it. All walkers reach a memcg below the same top, unless marks
/// change meanwhile.
struct SharedTops(Node);

impl TopStore<MemCgroup> for SharedTops {
    #[inline]
    fn top(&self, pos: &MemCgroup) -> u32 {
        pos.excess_top(self.0).load(Relaxed)
    }

    #[inline]
    fn set_top(&self, pos: &MemCgroup, top: u32) {
        // ORDERING: Visible to whoever finds the position here: it moves later, by a fully ordered
        // operation, and to read what is remembered depends on its address.
        pos.excess_top(self.0).store(top, Relaxed);
    }
}

/// Brings up to date what is known of a memcg's excess, and of its ancestors', after usage or limit
/// changed. Does not sleep; interrupts may be off.
///
/// # Safety
///
/// `memcg` must be valid.
#[export]
pub(crate) unsafe extern "C" fn mem_cgroup_update_excess(memcg: *mut mem_cgroup) {
    // SAFETY: The memcg is valid.
    soft_limit::update(unsafe { MemCgroup::from_raw(memcg) });
}

/// Forgets the excess of a memcg that goes offline. Does not sleep.
///
/// # Safety
///
/// `memcg` must be valid.
#[export]
pub(crate) unsafe extern "C" fn mem_cgroup_close_excess(memcg: *mut mem_cgroup) {
    // SAFETY: The memcg is valid.
    soft_limit::close(unsafe { MemCgroup::from_raw(memcg) });
}

/// Returns whether there are memcgs below this one that exceed their soft limits, so that reclaim
/// takes from them first. Not if this one exceeds its own: then all have the same rank. Does not
/// sleep.
///
/// # Safety
///
/// `root` must be null, for the root of all, or valid.
#[export]
pub(crate) unsafe extern "C" fn __mem_cgroup_has_excess(root: *mut mem_cgroup) -> bool {
    let root = top(root);

    // SAFETY: The root is valid, unless it is null.
    !root.is_null() && soft_limit::has_first_pass(unsafe { MemCgroup::from_raw(root) })
}

/// Returns whether a pass over those in excess was in vain, so that another one over the others
/// must follow. Does not sleep.
///
/// # Safety
///
/// `pass` must be valid.
#[export]
pub(crate) unsafe extern "C" fn mem_cgroup_excess_in_vain(
    pass: *const mem_cgroup_excess_pass,
) -> bool {
    // SAFETY: The pass is valid.
    let pass = unsafe { &*pass };
    let is_in_vain = FirstPass {
        scanned: pass.scanned,
        reclaimed: pass.reclaimed,
        waiting: pass.waiting,
        wanted: pass.wanted,
        priority: pass.priority,
    }
    .is_in_vain();

    sys::count(Stat::ExcessPasses, 1);
    if is_in_vain {
        sys::count(Stat::ExcessInVain, 1);
    }
    is_in_vain
}

/// Returns whether a first pass of reclaim of `root` visits a memcg, which is `root` or below it.
/// Does not sleep.
///
/// # Safety
///
/// `root` must be null, for the root of all, or valid. `memcg` must be valid.
#[export]
pub(crate) unsafe extern "C" fn mem_cgroup_below_excess(
    root: *mut mem_cgroup,
    memcg: *mut mem_cgroup,
) -> bool {
    // SAFETY: Both are valid; if there is a memcg, there is a root of all.
    let (root, memcg) = unsafe { (MemCgroup::from_raw(top(root)), MemCgroup::from_raw(memcg)) };

    matches!(soft_limit::verdict(memcg, root), Verdict::Visit)
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
/// A walk that is not shared remembers in `walked` where it is; that is 0 at first, and the caller
/// leaves it alone.
///
/// # Safety
///
/// - As for `mem_cgroup_iter_cond`.
/// - `walked` must be valid and used by this walk only.
#[export]
pub(crate) unsafe extern "C" fn mem_cgroup_iter_excess(
    root: *mut mem_cgroup,
    prev: *mut mem_cgroup,
    reclaim: *mut mem_cgroup_reclaim_cookie,
    walked: *mut c_uint,
) -> *mut mem_cgroup {
    let verdict = |memcg: &MemCgroup| {
        if is_uncharged_below(memcg, root) {
            return Verdict::SkipTree;
        }
        // SAFETY: A walk that has begun has a root, which is valid.
        soft_limit::verdict(memcg, unsafe { MemCgroup::from_raw(top(root)) })
    };
    let position = MemCgroup::excess_iter;

    if reclaim.is_null() {
        // SAFETY: It is valid, and nobody else uses it during the call.
        let order = ExcessOrder::new(Cell::from_mut(unsafe { &mut *walked }));

        // SAFETY: The caller keeps what this function asks for.
        unsafe { iter_next(root, prev, reclaim, position, order, verdict) }
    } else {
        // SAFETY: A cookie is valid, and so is the node that it names.
        let node = unsafe { Node::from_raw((*(*reclaim).pgdat).node_id) };
        let order = ExcessOrder::new(SharedTops(node));

        // SAFETY: The caller keeps what this function asks for.
        unsafe { iter_next(root, prev, reclaim, position, order, verdict) }
    }
}
