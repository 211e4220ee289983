// SPDX-License-Identifier: GPL-2.0

//! What the test suites in C look at.

use kernel::{
    alloc::flags::GFP_KERNEL,
    bindings::mem_cgroup,
    ffi::{
        c_int,
        c_long,
        c_ulong, //
    },
    prelude::*, //
};

use crate::{
    map::on_node::HasMap,
    memcg::{
        MemCgroup,
        MemCgroupMap, //
    },
    memcg_bitmap::MemcgId,
    shrinker::Target,
    shrinker_id::ShrinkerId,
    sys::Node,
    verify, //
};

/// Calls `f` with a map and an id.
///
/// # Safety
///
/// `memcg` must be valid, `nid` a possible node.
unsafe fn inspect<R: Default>(
    memcg: *mut mem_cgroup,
    nid: c_int,
    shrinker_id: c_int,
    f: impl FnOnce(MemCgroupMap<'_>, ShrinkerId) -> R,
) -> R {
    // SAFETY: The caller vouches for both.
    let (memcg, node) = unsafe { (MemCgroup::from_raw(memcg), Node::from_raw(nid)) };

    ShrinkerId::from_raw(shrinker_id).map_or_else(R::default, |id| f(memcg.map_on(node), id))
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
    unsafe { inspect(memcg, nid, shrinker_id, |map, id| map.is_set(id)) }
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
    unsafe { inspect(memcg, nid, shrinker_id, |map, id| map.is_pending(id)) }
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
    unsafe { inspect(memcg, nid, shrinker_id, |map, id| map.is_installed(id)) }
}

/// Returns the number of units that a memcg has, on all nodes together.
///
/// # Safety
///
/// `memcg` must be valid.
#[export]
pub(crate) unsafe extern "C" fn shrinker_nr_units(memcg: *mut mem_cgroup) -> c_ulong {
    // SAFETY: The memcg is valid.
    unsafe { MemCgroup::from_raw(memcg) }.map().nr_units()
}

/// Returns whether the memcg that has, or had, a private id is listed as not idle.
///
/// # Safety
///
/// `nid` must be a possible node.
#[export]
pub(crate) unsafe extern "C" fn shrinker_id_is_listed(memcg_id: c_int, nid: c_int) -> bool {
    // SAFETY: The node is a possible one.
    let node = unsafe { Node::from_raw(nid) };

    MemCgroup::root()
        .zip(MemcgId::from_raw(memcg_id))
        .is_some_and(|(root, id)| root.bitmap(node).contains(id))
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
    unsafe { inspect(memcg, nid, shrinker_id, |map, id| map.nr_deferred(id)) }
}

/// Has the oracle compare a map with the shrinkers, whatever the boot parameter says. May sleep.
///
/// # Safety
///
/// The caller must have a reference on `memcg`, and `nid` must be a possible node.
#[export]
pub(crate) unsafe extern "C" fn shrinker_verify(memcg: *mut mem_cgroup, nid: c_int) {
    // SAFETY: The caller vouches for both.
    let (memcg, node) = unsafe { (MemCgroup::from_raw(memcg), Node::from_raw(nid)) };
    let target = Target {
        memcg,
        node,
        gfp_mask: GFP_KERNEL.as_raw(),
        priority: 0,
    };

    verify::compare(&target, &memcg.map_on(node));
}
