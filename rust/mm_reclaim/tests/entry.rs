// SPDX-License-Identifier: GPL-2.0

//! What the suites in C call to look inside.

use kernel::{
    bindings::{
        self,
        mem_cgroup, //
    },
    prelude::*,
    sync::rcu, //
};

#[cfg(CONFIG_MEMCG_V1)]
use crate::soft_limit::HasSoftLimit;
use crate::{
    deferred,
    map::on_node::HasMap,
    memcg::MemCgroup,
    memcg_bitmap::{
        HasMemcgId,
        MemcgId, //
    },
    reclaimable::HasLru,
    shrinker::{
        Shrinker,
        Target, //
    },
    shrinker_id::ShrinkerId,
    sys::Node,
    verify, //
};

/// Returns what a test asks about the map of a memcg on a node, and a shrinker.
///
/// # Safety
///
/// `memcg` must be valid, `nid` a possible node.
#[export]
pub(crate) unsafe extern "C" fn shrinker_map_inspect(
    memcg: *mut mem_cgroup,
    nid: c_int,
    shrinker_id: c_int,
    what: c_int,
) -> c_long {
    // SAFETY: The caller vouches for both.
    let (memcg, node) = unsafe { (MemCgroup::from_raw(memcg), Node::from_raw(nid)) };
    let Some(id) = ShrinkerId::from_raw(shrinker_id) else {
        return 0;
    };
    let map = memcg.map_on(node);

    match what as u32 {
        bindings::shrinker_map_view_SHRINKER_MAP_BIT => map.is_set(id).into(),
        bindings::shrinker_map_view_SHRINKER_MAP_SUMMARY => map.is_pending(id).into(),
        bindings::shrinker_map_view_SHRINKER_MAP_INSTALLED => map.is_installed(id).into(),
        bindings::shrinker_map_view_SHRINKER_MAP_DEFERRED => map.nr_deferred(id),
        _ => memcg.map().nr_units() as c_long,
    }
}

/// Asks the root about a private id; the answer is no if the number is no id.
fn ask(memcg_id: c_int, f: impl FnOnce(&MemCgroup, MemcgId) -> bool) -> bool {
    MemCgroup::root()
        .zip(MemcgId::from_raw(memcg_id))
        .is_some_and(|(root, id)| f(root, id))
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

    ask(memcg_id, |root, id| root.bitmap(node).contains(id))
}

/// Returns whether the memcg that has, or had, a private id is listed as one with pages.
///
/// # Safety
///
/// `nid` must be a possible node.
#[export]
pub(crate) unsafe extern "C" fn memcg_id_has_lru_bit(memcg_id: c_int, nid: c_int) -> bool {
    // SAFETY: The node is a possible one.
    let node = unsafe { Node::from_raw(nid) };

    ask(memcg_id, |root, id| root.lru_bitmap(node).contains(id))
}

/// Returns whether walks find a memcg by this private id.
#[export]
pub(crate) extern "C" fn shrinker_id_is_found(memcg_id: c_int) -> bool {
    ask(memcg_id, |root, id| {
        root.with_id(id, &rcu::read_lock()).is_some()
    })
}

/// Says in types whose deferred work is meant; none if the shrinker has no id.
///
/// # Safety
///
/// `memcg` and `shrinker` must be valid for `'a`, and `nid` a possible node.
unsafe fn deferred_of<'a>(
    nid: c_int,
    shrinker: *mut bindings::shrinker,
    memcg: *mut mem_cgroup,
) -> Option<(&'a MemCgroup, Node, ShrinkerId)> {
    // SAFETY: The caller vouches for all three.
    let (memcg, node, shrinker) = unsafe {
        (
            MemCgroup::from_raw(memcg),
            Node::from_raw(nid),
            Shrinker::from_raw(shrinker),
        )
    };

    Some((memcg, shrinker.deferred_node(node), shrinker.id()?))
}

/// Takes the work that a shrinker left over for a memcg on a node, as a walk does.
///
/// # Safety
///
/// `memcg` and `shrinker` must be valid, and `nid` a possible node.
#[export]
pub(crate) unsafe extern "C" fn shrinker_take_deferred(
    nid: c_int,
    shrinker: *mut bindings::shrinker,
    memcg: *mut mem_cgroup,
) -> c_long {
    // SAFETY: As for this function.
    unsafe { deferred_of(nid, shrinker, memcg) }
        .map_or(0, |(memcg, node, id)| memcg.map_on(node).take_deferred(id))
}

/// Adds to the work that a shrinker left over for a memcg on a node, as a walk does, and returns
/// the sum.
///
/// # Safety
///
/// `memcg` and `shrinker` must be valid, and `nid` a possible node.
#[export]
pub(crate) unsafe extern "C" fn shrinker_add_deferred(
    nr: c_long,
    nid: c_int,
    shrinker: *mut bindings::shrinker,
    memcg: *mut mem_cgroup,
) -> c_long {
    // SAFETY: As for this function.
    unsafe { deferred_of(nid, shrinker, memcg) }
        .map_or(0, |(memcg, node, id)| deferred::add(memcg, node, id, nr))
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

/// Returns whether a memcg exceeds its soft limit, for tests.
///
/// # Safety
///
/// `memcg` must be valid.
#[cfg(CONFIG_MEMCG_V1)]
#[export]
pub(crate) unsafe extern "C" fn mem_cgroup_is_in_excess(memcg: *mut mem_cgroup) -> bool {
    // SAFETY: The memcg is valid.
    unsafe { MemCgroup::from_raw(memcg) }.excess().is_marked()
}
