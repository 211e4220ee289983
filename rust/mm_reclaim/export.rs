// SPDX-License-Identifier: GPL-2.0

//! The entry points that C calls.
//!
//! Nothing is decided here: pointers become types, results become errnos.
//!
//! C headers: [`include/linux/mm_reclaim.h`](srctree/include/linux/mm_reclaim.h),
//! [`include/linux/memcontrol.h`](srctree/include/linux/memcontrol.h)

use core::{
    ffi::c_void,
    ptr::{
        self,
        NonNull, //
    }, //
};
use kernel::{
    alloc::Flags,
    bindings::{
        self,
        mem_cgroup,
        mem_cgroup_reclaim_cookie, //
    },
    ffi::{
        c_int,
        c_long,
        c_ulong, //
    },
    prelude::*,
    sync::aref::ARef, //
};

use crate::{
    id::Id,
    iter::{
        self,
        Cookie,
        Step,
        Verdict, //
    },
    lifecycle,
    memcg::{
        self,
        MemCgroup, //
    },
    node::Node,
    rcu::Lent,
    shrinker::{
        Shrinker,
        Target, //
    },
    walk, //
};

fn to_errno(result: Result) -> c_int {
    match result {
        Ok(()) => 0,
        Err(err) => err.to_errno(),
    }
}

/// Gives a shrinker an id. Returns it, or an errno: `-ENOSPC` if all are taken, `-ENOMEM`.
///
/// May sleep.
///
/// # Safety
///
/// `shrinker` must be valid until a grace period has passed after [`shrinker_id_free`]. The caller
/// must hold `shrinker_mutex`.
#[export]
pub(crate) unsafe extern "C" fn shrinker_id_alloc(shrinker: *mut bindings::shrinker) -> c_int {
    let Some(shrinker) = NonNull::new(shrinker.cast::<Shrinker>()) else {
        return EINVAL.to_errno();
    };

    // SAFETY: The caller keeps the shrinker valid, and only `shrinker_id_free` makes the table
    // forget it.
    match lifecycle::register(unsafe { Lent::new(shrinker) }) {
        Ok(id) => id.as_raw(),
        Err(err) => err.to_errno(),
    }
}

/// Takes the id of a shrinker back. Does not sleep.
///
/// # Safety
///
/// `shrinker` must be valid, and have an id from [`shrinker_id_alloc`]. The caller must hold
/// `shrinker_mutex`.
#[export]
pub(crate) unsafe extern "C" fn shrinker_id_free(shrinker: *mut bindings::shrinker) {
    // SAFETY: The shrinker is valid.
    if let Some(id) = Id::from_raw(unsafe { (*shrinker).id }) {
        lifecycle::unregister(id);
    }
}

/// Prepares a memcg to have objects of a shrinker, on all nodes. Returns 0 or `-ENOMEM`, and then
/// nothing has changed.
///
/// Sleeps if `gfp` allows it.
///
/// # Safety
///
/// `memcg` must be valid.
#[export]
pub(crate) unsafe extern "C" fn install_shrinker_unit(
    memcg: *mut mem_cgroup,
    shrinker_id: c_int,
    gfp: bindings::gfp_t,
) -> c_int {
    let Some(id) = Id::from_raw(shrinker_id) else {
        return 0;
    };
    // SAFETY: The memcg is valid.
    let memcg = unsafe { MemCgroup::from_raw(memcg) };

    to_errno(lifecycle::install(memcg, id, Flags::from_raw(gfp)))
}

/// Brings the maps of a memcg online. Returns 0 or `-ENOMEM`. May sleep.
///
/// # Safety
///
/// `memcg` must be valid.
#[export]
pub(crate) unsafe extern "C" fn alloc_shrinker_info(memcg: *mut mem_cgroup) -> c_int {
    // SAFETY: The memcg is valid.
    to_errno(lifecycle::online(unsafe { MemCgroup::from_raw(memcg) }))
}

/// Takes the maps of a memcg offline: hands its deferred work to its parent, and frees its units
/// after a grace period. Does not sleep.
///
/// # Safety
///
/// `memcg` must be valid, and its objects reparented.
#[export]
pub(crate) unsafe extern "C" fn reparent_shrinker_deferred(memcg: *mut mem_cgroup) {
    // SAFETY: The memcg is valid.
    lifecycle::offline(unsafe { MemCgroup::from_raw(memcg) });
}

/// Frees what is left of the maps of a memcg. Does not sleep.
///
/// # Safety
///
/// `memcg` must be valid, and must not have objects.
#[export]
pub(crate) unsafe extern "C" fn free_shrinker_info(memcg: *mut mem_cgroup) {
    // Nothing is left of a memcg that went offline. One that failed to come online goes the same
    // way now.
    //
    // SAFETY: The memcg is valid.
    lifecycle::offline(unsafe { MemCgroup::from_raw(memcg) });
}

/// Notes that a memcg has an object of a shrinker on a node, after the object was made visible to
/// `count_objects`.
///
/// Does not sleep; interrupts may be off.
///
/// # Safety
///
/// `memcg` must be null or valid, and `nid` a possible node.
#[export]
pub(crate) unsafe extern "C" fn set_shrinker_bit(
    memcg: *mut mem_cgroup,
    nid: c_int,
    shrinker_id: c_int,
) {
    let Some(id) = Id::from_raw(shrinker_id) else {
        return;
    };
    if memcg.is_null() {
        return;
    }
    // SAFETY: The memcg is valid.
    let group = unsafe { MemCgroup::from_raw(memcg) };
    if group.is_root() {
        return;
    }
    // SAFETY: The node is a possible one.
    let node = unsafe { Node::from_raw(nid) };

    // Without kernel memory accounting, list_lru.c has one list for all memcgs and installs nothing.
    // Few shrinkers have ids then, so that a walk may well look everywhere.
    if !group.info(node).set(id) && !memcg::is_kmem_disabled() {
        // SAFETY: The memcg is valid.
        unsafe { bindings::shrinker_warn_missing_unit(memcg, nid, shrinker_id) };
    }
}

/// Takes the work that a shrinker left over for a memcg on a node. Does not sleep.
///
/// # Safety
///
/// `memcg` and `shrinker` must be valid, and `nid` a possible node.
#[export]
pub(crate) unsafe extern "C" fn xchg_nr_deferred_memcg(
    nid: c_int,
    shrinker: *mut bindings::shrinker,
    memcg: *mut mem_cgroup,
) -> c_long {
    // SAFETY: The caller vouches for all three.
    let (memcg, node, id) = unsafe {
        (
            MemCgroup::from_raw(memcg),
            Node::from_raw(nid),
            Id::from_raw((*shrinker).id),
        )
    };

    id.map_or(0, |id| memcg.info(node).take_deferred(id))
}

/// Adds to the work that a shrinker left over for a memcg on a node, and returns the sum. Does not
/// sleep.
///
/// # Safety
///
/// `memcg` and `shrinker` must be valid, and `nid` a possible node.
#[export]
pub(crate) unsafe extern "C" fn add_nr_deferred_memcg(
    nr: c_long,
    nid: c_int,
    shrinker: *mut bindings::shrinker,
    memcg: *mut mem_cgroup,
) -> c_long {
    // SAFETY: The caller vouches for all three.
    let (memcg, node, id) = unsafe {
        (
            MemCgroup::from_raw(memcg),
            Node::from_raw(nid),
            Id::from_raw((*shrinker).id),
        )
    };

    id.map_or(0, |id| lifecycle::add_deferred(memcg, node, id, nr))
}

/// Shrinks what a memcg has on a node, and returns the number of objects freed. May sleep.
///
/// # Safety
///
/// The caller must have a reference on `memcg`, and `nid` must be a possible node.
#[export]
pub(crate) unsafe extern "C" fn __shrink_slab_memcg(
    gfp_mask: bindings::gfp_t,
    nid: c_int,
    memcg: *mut mem_cgroup,
    priority: c_int,
) -> c_ulong {
    // SAFETY: The caller vouches for both.
    let (memcg, node) = unsafe { (MemCgroup::from_raw(memcg), Node::from_raw(nid)) };

    walk::shrink_memcg(&Target {
        memcg,
        node,
        gfp_mask,
        priority,
    })
}

/// Walks a hierarchy of memcgs: `mem_cgroup_iter()` for any filter.
///
/// # Safety
///
/// As for [`mem_cgroup_iter_cond`].
unsafe fn iter_next(
    root: *mut mem_cgroup,
    prev: *mut mem_cgroup,
    reclaim: *mut mem_cgroup_reclaim_cookie,
    filter: impl FnMut(&MemCgroup) -> Verdict,
) -> *mut mem_cgroup {
    // Without memcgs, a walk doesn't begin.
    if prev.is_null() && memcg::is_disabled() {
        return ptr::null_mut();
    }
    let root = if root.is_null() {
        MemCgroup::root()
    } else {
        // SAFETY: The caller keeps `root` valid.
        Some(unsafe { MemCgroup::from_raw(root) })
    };
    let Some(root) = root else {
        return ptr::null_mut();
    };

    let cookie = if reclaim.is_null() {
        None
    } else {
        // SAFETY: The caller vouches for the cookie, which names an existing node, and uses it
        // for nothing else meanwhile.
        Some(unsafe {
            Cookie {
                shared: root.reclaim_iter(Node::from_raw((*(*reclaim).pgdat).node_id)),
                generation: &mut (*reclaim).generation,
            }
        })
    };

    // SAFETY: The caller has a reference on `prev`.
    let prev_ref = (!prev.is_null()).then(|| unsafe { MemCgroup::from_raw(prev) });
    let next = match iter::next(root, prev_ref, cookie, filter) {
        None => ptr::null_mut(),
        Some(Step::Root) => root.as_raw(),
        Some(Step::Descendant(group)) => ARef::into_raw(group).as_ptr().cast(),
    };

    // SAFETY: The caller gives `prev` back, and doesn't use it any more.
    unsafe { iter_put(root.as_raw(), prev) };
    next
}

/// Gives a memcg back that a walk below `root` returned.
///
/// # Safety
///
/// `prev` must be null or come from a walk below `root`, and must not be used any more.
unsafe fn iter_put(root: *mut mem_cgroup, prev: *mut mem_cgroup) {
    if prev == root {
        return;
    }
    if let Some(prev) = NonNull::new(prev.cast::<MemCgroup>()) {
        // SAFETY: The walk got a reference for everything that it returned but `root`.
        drop(unsafe { ARef::from_raw(prev) });
    }
}

/// Walks a hierarchy of memcgs, alone or shared with other reclaimers of a node.
///
/// See the kernel-doc of the C function of this name in mm/memcontrol.c. Does not sleep.
///
/// # Safety
///
/// As for [`mem_cgroup_iter_cond`].
#[export]
pub(crate) unsafe extern "C" fn mem_cgroup_iter(
    root: *mut mem_cgroup,
    prev: *mut mem_cgroup,
    reclaim: *mut mem_cgroup_reclaim_cookie,
) -> *mut mem_cgroup {
    // SAFETY: As for this function.
    unsafe { iter_next(root, prev, reclaim, |_| Verdict::Visit) }
}

/// Walks the memcgs of a hierarchy that pass a filter: [`mem_cgroup_iter`] for a part of it.
///
/// `filter` is called with `arg`, under RCU, before a reference is taken. Does not sleep.
///
/// # Safety
///
/// - `root` must be null, for the root of all, or be kept alive by the caller.
/// - `prev` must be null, or come from the call before with the same `root`. It is given back.
/// - `reclaim` must be null, or valid and used by this walk only.
/// - `filter` must be null, or safe to call with any memcg and `arg`, and must not sleep.
#[export]
pub(crate) unsafe extern "C" fn mem_cgroup_iter_cond(
    root: *mut mem_cgroup,
    prev: *mut mem_cgroup,
    reclaim: *mut mem_cgroup_reclaim_cookie,
    filter: bindings::mem_cgroup_filter_fn,
    arg: *mut c_void,
) -> *mut mem_cgroup {
    let verdict = |memcg: &MemCgroup| {
        // SAFETY: The caller vouches for `filter` and `arg`.
        let verdict = filter.map_or(0, |filter| unsafe { filter(memcg.as_raw(), arg) });

        match verdict as u32 {
            bindings::mem_cgroup_filter_MEM_CGROUP_SKIP => Verdict::Skip,
            bindings::mem_cgroup_filter_MEM_CGROUP_SKIP_TREE => Verdict::SkipTree,
            _ => Verdict::Visit,
        }
    };

    // SAFETY: As for this function.
    unsafe { iter_next(root, prev, reclaim, verdict) }
}

/// Ends a walk before its round is complete. Does not sleep.
///
/// # Safety
///
/// `root` and `prev` must be as in [`mem_cgroup_iter_cond`].
#[export]
pub(crate) unsafe extern "C" fn mem_cgroup_iter_break(
    root: *mut mem_cgroup,
    prev: *mut mem_cgroup,
) {
    let root = if root.is_null() {
        MemCgroup::root().map_or(ptr::null_mut(), MemCgroup::as_raw)
    } else {
        root
    };

    // SAFETY: The caller gives `prev` back.
    unsafe { iter_put(root, prev) };
}

/// What the test suites look at.
#[cfg(CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST)]
mod kunit {
    use super::*;

    /// Calls `f` with a map and an id.
    ///
    /// # Safety
    ///
    /// `memcg` must be valid, `nid` a possible node.
    unsafe fn inspect<R: Default>(
        memcg: *mut mem_cgroup,
        nid: c_int,
        shrinker_id: c_int,
        f: impl FnOnce(crate::info::Info<'_>, Id) -> R,
    ) -> R {
        // SAFETY: The caller vouches for both.
        let (memcg, node) = unsafe { (MemCgroup::from_raw(memcg), Node::from_raw(nid)) };

        Id::from_raw(shrinker_id).map_or_else(R::default, |id| f(memcg.info(node), id))
    }

    /// Returns whether the bit of a shrinker is set.
    ///
    /// # Safety
    ///
    /// `memcg` must be valid, `nid` a possible node.
    #[export]
    pub(crate) unsafe extern "C" fn shrinker_bit_is_set(
        memcg: *mut mem_cgroup,
        nid: c_int,
        shrinker_id: c_int,
    ) -> bool {
        // SAFETY: As for this function.
        unsafe { inspect(memcg, nid, shrinker_id, |info, id| info.is_set(id)) }
    }

    /// Returns whether the summary bit of a shrinker's unit is set.
    ///
    /// # Safety
    ///
    /// `memcg` must be valid, `nid` a possible node.
    #[export]
    pub(crate) unsafe extern "C" fn shrinker_summary_is_set(
        memcg: *mut mem_cgroup,
        nid: c_int,
        shrinker_id: c_int,
    ) -> bool {
        // SAFETY: As for this function.
        unsafe { inspect(memcg, nid, shrinker_id, |info, id| info.is_pending(id)) }
    }

    /// Returns whether there is a unit for a shrinker.
    ///
    /// # Safety
    ///
    /// `memcg` must be valid, `nid` a possible node.
    #[export]
    pub(crate) unsafe extern "C" fn shrinker_unit_is_installed(
        memcg: *mut mem_cgroup,
        nid: c_int,
        shrinker_id: c_int,
    ) -> bool {
        // SAFETY: As for this function.
        unsafe { inspect(memcg, nid, shrinker_id, |info, id| info.is_installed(id)) }
    }

    /// Returns the work that a shrinker left over.
    ///
    /// # Safety
    ///
    /// `memcg` must be valid, `nid` a possible node.
    #[export]
    pub(crate) unsafe extern "C" fn shrinker_nr_deferred(
        memcg: *mut mem_cgroup,
        nid: c_int,
        shrinker_id: c_int,
    ) -> c_long {
        // SAFETY: As for this function.
        unsafe { inspect(memcg, nid, shrinker_id, |info, id| info.nr_deferred(id)) }
    }
}
