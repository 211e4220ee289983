// SPDX-License-Identifier: GPL-2.0

//! The entry points that C calls.
//!
//! Nothing is decided here: pointers become types, results become errnos.
//!
//! C headers: [`include/linux/mm_reclaim.h`](srctree/include/linux/mm_reclaim.h),
//! [`include/linux/memcontrol.h`](srctree/include/linux/memcontrol.h)

use core::{
    iter,
    ptr::NonNull, //
};
#[cfg(CONFIG_DEBUG_FS)]
use kernel::seq_file::SeqFile;
use kernel::{
    alloc::Flags,
    bindings::{
        self,
        mem_cgroup, //
    },
    error::from_result,
    prelude::*,
    sync::rcu::{
        Guard,
        RcuFreed, //
    }, //
};

use crate::{
    dying,
    id_table::Writer,
    lifecycle,
    map::on_node::HasMap,
    memcg::{
        self,
        MemCgroup,
        RemovedMemcg, //
    },
    reclaimable,
    retain::{
        may_retain,
        HasRetain,
        RetainState,
        Setting, //
    },
    shrinker::{
        Shrinker,
        ShrinkerIds,
        Target,
        SHRINKERS, //
    },
    shrinker_id::ShrinkerId,
    sys::Node,
    walk::shrink_memcg, //
};

#[cfg(CONFIG_DEBUG_FS)]
mod debugfs;
mod retain;
mod walk;

/// Returns what changes the ids of shrinkers.
///
/// # Safety
///
/// The caller must hold `shrinker_mutex` as long as it uses what is returned.
unsafe fn shrinker_ids() -> ShrinkerIds<'static> {
    // SAFETY: All writers of `SHRINKERS` come from here, and are used under `shrinker_mutex`.
    unsafe { Writer::new(&SHRINKERS) }
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
    // SAFETY: The caller holds `shrinker_mutex`.
    let mut ids = unsafe { shrinker_ids() };

    // SAFETY: The caller keeps the shrinker valid, so it is not null, and only `shrinker_id_free`
    // makes the table forget it.
    let shrinker = unsafe { RcuFreed::new(NonNull::new_unchecked(shrinker.cast::<Shrinker>())) };

    from_result(|| Ok(lifecycle::register(&mut ids, shrinker)?.as_raw()))
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
    if let Some(id) = ShrinkerId::from_raw(unsafe { (*shrinker).id }) {
        // SAFETY: The caller holds `shrinker_mutex`.
        lifecycle::unregister(&mut unsafe { shrinker_ids() }, id);
    }
}

/// Returns whether a memcg, and all above it, can have objects of a shrinker on a node, or with
/// `NUMA_NO_NODE` on all that have memory.
///
/// Does not sleep. Runs for each object that is allocated.
///
/// # Safety
///
/// `memcg` must be valid, and `nid` a possible node or `NUMA_NO_NODE`. The caller must be in an RCU
/// read-side critical section.
#[export]
pub(crate) unsafe extern "C" fn shrinker_unit_is_ready(
    memcg: *mut mem_cgroup,
    nid: c_int,
    shrinker_id: c_int,
) -> bool {
    let Some(id) = ShrinkerId::from_raw(shrinker_id) else {
        return true;
    };
    // SAFETY: The memcg is valid.
    let memcg = unsafe { MemCgroup::from_raw(memcg) };

    if nid == bindings::NUMA_NO_NODE {
        return is_ready_everywhere(memcg, id);
    }
    // SAFETY: The node is a possible one, and the caller holds RCU.
    let (node, guard) = unsafe { (Node::from_raw(nid), Guard::assume_held()) };

    memcg.map_on(node).unit(id, guard).is_some()
}

/// For large folios, so that all others need no stack.
#[cold]
#[inline(never)]
fn is_ready_everywhere(memcg: &MemCgroup, id: ShrinkerId) -> bool {
    memcg.map().has(id.index(), Node::with_memory)
}

/// Lets a memcg, and all above it, have objects of a shrinker on a node, or with `NUMA_NO_NODE` on
/// all that have memory. Returns 0 or `-ENOMEM`.
///
/// Sleeps if `gfp` allows it.
///
/// # Safety
///
/// `memcg` must be valid, and `nid` a possible node or `NUMA_NO_NODE`.
#[export]
pub(crate) unsafe extern "C" fn install_shrinker_unit(
    memcg: *mut mem_cgroup,
    nid: c_int,
    shrinker_id: c_int,
    gfp: bindings::gfp_t,
) -> c_int {
    let Some(id) = ShrinkerId::from_raw(shrinker_id) else {
        return 0;
    };
    // SAFETY: The memcg is valid.
    let (memcg, flags) = (unsafe { MemCgroup::from_raw(memcg) }, Flags::from_raw(gfp));

    from_result(|| {
        if nid == bindings::NUMA_NO_NODE {
            lifecycle::install(memcg, Node::with_memory, id, flags)?;
        } else {
            // SAFETY: The node is a possible one.
            let node = unsafe { Node::from_raw(nid) };

            lifecycle::install(memcg, || iter::once(node), id, flags)?;
        }
        Ok(0)
    })
}

/// Gives back the per-CPU statistics of memcgs that were removed a while ago. May sleep.
///
/// # Safety
///
/// Must not be called twice at the same time.
#[export]
pub(crate) unsafe extern "C" fn drain_dying_memcgs() {
    // SAFETY: The caller guarantees that there is no other call.
    dying::drain::<MemCgroup>(|| unsafe { RemovedMemcg::take() });
}

/// Brings the maps of a memcg online. Returns 0 or `-ENOMEM`. May sleep; the caller holds
/// `cgroup_mutex`.
///
/// # Safety
///
/// `memcg` must be valid.
#[export]
pub(crate) unsafe extern "C" fn alloc_shrinker_info(memcg: *mut mem_cgroup) -> c_int {
    // SAFETY: The memcg is valid.
    let memcg = unsafe { MemCgroup::from_raw(memcg) };

    from_result(|| lifecycle::online(memcg).map(|()| 0))
}

/// Lets walks find a memcg, after nothing else can keep it from coming online. Does not sleep.
///
/// # Safety
///
/// [`alloc_shrinker_info`] must have returned 0 for `memcg`, which must be valid until a grace
/// period has passed after [`reparent_shrinker_deferred`], and keep its id until then.
#[export]
pub(crate) unsafe extern "C" fn shrinker_memcg_online(memcg: *mut mem_cgroup) {
    // SAFETY: The memcg is valid, and as long as `publish_id` asks for: what takes it offline
    // forgets its id.
    unsafe { MemCgroup::from_raw(memcg).publish_id() };
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
    // SAFETY: The memcg is valid.
    lifecycle::offline(unsafe { MemCgroup::from_raw(memcg) });
}

/// Notes that pages come to an empty list of a memcg on a node, so that global reclaim finds them.
///
/// Does not sleep; interrupts are off.
///
/// # Safety
///
/// `memcg` must be valid, and `nid` a possible node. The caller must hold the `lru_lock` of the
/// memcg on that node.
#[export]
pub(crate) unsafe extern "C" fn set_memcg_lru_bit(memcg: *mut mem_cgroup, nid: c_int) {
    // SAFETY: The memcg is valid, and the node is a possible one.
    unsafe { reclaimable::list(MemCgroup::from_raw(memcg), Node::from_raw(nid)) };
}

/// Does the work of `set_shrinker_bit()`, which notes that a memcg has an object of a shrinker on a
/// node. A full barrier of the caller orders it after the object was made visible to
/// `count_objects`.
///
/// Does not sleep; interrupts may be off. Runs for each object that comes to an empty list.
///
/// # Safety
///
/// `memcg` must be null or valid, and `nid` a possible node. The caller must be in an RCU read-side
/// critical section, such as that of the lock of a list_lru.
#[export]
pub(crate) unsafe extern "C" fn set_shrinker_bit_after_mb(
    memcg: *mut mem_cgroup,
    nid: c_int,
    shrinker_id: c_int,
) {
    let Some(id) = ShrinkerId::from_raw(shrinker_id) else {
        return;
    };
    let group = if memcg.is_null() {
        // What is charged to nobody is the root's. Early at boot there is no root: it gets all bits
        // when it comes online.
        MemCgroup::root()
    } else {
        // SAFETY: The memcg is valid.
        Some(unsafe { MemCgroup::from_raw(memcg) })
    };
    let Some(group) = group else {
        return;
    };
    // SAFETY: The node is a possible one, and the caller holds RCU.
    let (node, guard) = unsafe { (Node::from_raw(nid), Guard::assume_held()) };

    if !group.map_on(node).set_after_mb(id, guard) {
        set_without_unit(group, node, id);
    }
}

/// Notes that a memcg has an object of a shrinker though it has no unit for that, and warns if this
/// is a bug.
#[cold]
fn set_without_unit(memcg: &MemCgroup, node: Node, id: ShrinkerId) {
    if memcg.map_on(node).set(id) {
        return;
    }
    // Without kernel memory accounting, list_lru.c has one list for all memcgs, and installs no
    // unit; no shrinker of the kernel's own has an id then. The root may have objects on a node
    // that is about to get memory, and gets all bits there in the end.
    let has_memory = || Node::with_memory().any(|other| other == node);

    if !memcg::is_kmem_disabled() && has_memory() {
        // SAFETY: The memcg is valid.
        unsafe {
            bindings::shrinker_warn_missing_unit(memcg.as_raw(), node.as_raw(), id.as_raw());
        }
    }
}

/// Notes that a shrinker may have objects of the root memcg that are in no list_lru.
///
/// The caller made them visible to `count_objects` before. Does not sleep.
///
/// # Safety
///
/// `shrinker` must be valid.
#[export]
pub(crate) unsafe extern "C" fn set_shrinker_bits_root(shrinker: *mut bindings::shrinker) {
    // SAFETY: The shrinker is valid.
    let shrinker = unsafe { Shrinker::from_raw(shrinker) };

    if !shrinker.is_memcg_aware() {
        return;
    }
    // Without memcgs, none has an id, and all are always called.
    if let (Some(root), Some(id)) = (MemCgroup::root(), shrinker.id()) {
        lifecycle::mark(root, id);
    }
}

/// Prepares all memcgs for objects on a node that was just added to those with memory. Returns 0
/// or `-ENOMEM`. May sleep.
///
/// # Safety
///
/// `nid` must be a possible node.
#[export]
pub(crate) unsafe extern "C" fn install_shrinker_node(nid: c_int) -> c_int {
    // SAFETY: The node is a possible one.
    let node = unsafe { Node::from_raw(nid) };

    from_result(|| lifecycle::add_node(node).map(|()| 0))
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

    shrink_memcg(&Target {
        memcg,
        node,
        gfp_mask,
        priority,
    })
}

/// Prints a line with the map of a memcg on a node, if it has units there. Does not sleep.
///
/// # Safety
///
/// `memcg` must be valid, `nid` a possible node, and `m` valid and used by nobody else.
#[cfg(CONFIG_DEBUG_FS)]
#[export]
pub(crate) unsafe extern "C" fn show_shrinker_map(
    m: *mut bindings::seq_file,
    memcg: *mut mem_cgroup,
    nid: c_int,
) {
    // SAFETY: The caller vouches for all three.
    let (m, memcg, node) = unsafe {
        (
            SeqFile::from_raw(m),
            MemCgroup::from_raw(memcg),
            Node::from_raw(nid),
        )
    };

    debugfs::show(m, memcg, node);
}

/// Returns what a memcg keeps for page cache that outlives limits.
///
/// # Safety
///
/// `memcg` must be valid for the returned lifetime.
unsafe fn retain_state<'a>(memcg: *mut mem_cgroup) -> &'a RetainState {
    // SAFETY: The caller vouches for the memcg.
    unsafe { MemCgroup::from_raw(memcg) }.retain()
}

/// Notes what is written for a memcg, `MEMCG_RETAIN_*`. Does not sleep.
///
/// # Safety
///
/// `memcg` must be valid.
#[export]
pub(crate) unsafe extern "C" fn memcg_retain_set(memcg: *mut mem_cgroup, setting: c_uint) {
    if let Some(setting) = Setting::new(setting) {
        // SAFETY: The caller vouches for the memcg.
        unsafe { retain_state(memcg) }.set(setting);
    }
}

/// Returns what was written for a memcg. Does not sleep.
///
/// # Safety
///
/// `memcg` must be valid.
#[export]
pub(crate) unsafe extern "C" fn memcg_retain_get(memcg: *mut mem_cgroup) -> c_uint {
    // SAFETY: The caller vouches for the memcg.
    unsafe { retain_state(memcg) }.setting().get()
}

/// Returns whether page cache of a memcg may be retained. Does not sleep.
///
/// # Safety
///
/// `memcg` must be valid.
#[export]
pub(crate) unsafe extern "C" fn memcg_retain_allows(memcg: *mut mem_cgroup) -> bool {
    // SAFETY: The caller vouches for the memcg.
    may_retain(unsafe { MemCgroup::from_raw(memcg) })
}

/// Notes that a memcg is the pool from now on. Does not sleep.
///
/// # Safety
///
/// `pool` must be valid.
#[export]
pub(crate) unsafe extern "C" fn memcg_retain_start(pool: *mut mem_cgroup) {
    // SAFETY: The caller vouches for the memcg.
    unsafe { retain_state(pool) }.debt().forget();
}

/// Notes that the pool, which has `pooled` pages left, has evicted some. Does not sleep.
///
/// # Safety
///
/// `pool` must be valid.
#[export]
pub(crate) unsafe extern "C" fn memcg_retain_evicted(
    pool: *mut mem_cgroup,
    nr_pages: usize,
    pooled: usize,
) {
    // SAFETY: The caller vouches for the memcg.
    unsafe { retain_state(pool) }
        .debt()
        .evicted(nr_pages, pooled);
}

/// Notes that pages of the pool, which has `pooled` left, are used. Does not sleep.
///
/// # Safety
///
/// `pool` must be valid.
#[export]
pub(crate) unsafe extern "C" fn memcg_retain_used(
    pool: *mut mem_cgroup,
    nr_pages: usize,
    pooled: usize,
) {
    // SAFETY: The caller vouches for the memcg.
    unsafe { retain_state(pool) }.debt().used(nr_pages, pooled);
}

/// Returns whether the pool, which has, and has room for, `size` pages, takes what the next pass of
/// reclaim evicts. Does not sleep.
///
/// # Safety
///
/// `pool` must be valid.
#[export]
pub(crate) unsafe extern "C" fn memcg_retain_takes_next(
    pool: *mut mem_cgroup,
    size: usize,
) -> bool {
    // SAFETY: The caller vouches for the memcg.
    unsafe { retain_state(pool) }.debt().takes_next(size)
}
