// SPDX-License-Identifier: GPL-2.0

//! The C functions and constants that the crate uses, under their own names.

#![allow(non_camel_case_types, non_upper_case_globals)]

use core::{
    ffi::c_void,
    mem::size_of, //
};

use crate::{
    alloc::Flags,
    model,
    sync::{
        atomic::Atomic,
        Refcount, //
    }, //
};

/// Flags of an allocation.
pub type gfp_t = u32;

/// `DEF_PRIORITY` of `mm/internal.h`.
pub const DEF_PRIORITY: u32 = 12;
/// The time, which stands still.
pub static jiffies: usize = 0;
/// As many nodes as there can be.
pub const MAX_NUMNODES: u32 = 4;
/// Ids of memcgs. Fewer than in the kernel: a search through more words, which are zero, has nothing
/// to race with.
pub const SHRINKER_MEMCG_IDS: u32 = 2 * 64 * 64;
/// A pass of reclaim over those in excess.
#[derive(Default)]
#[allow(missing_docs)]
pub struct mem_cgroup_excess_pass {
    pub scanned: usize,
    pub reclaimed: usize,
    pub waiting: usize,
    pub wanted: usize,
    pub size: usize,
    pub priority: i32,
}

/// What the boot parameter asks for.
pub type mm_reclaim_mode = u32;
#[allow(missing_docs)]
pub const mm_reclaim_mode_MM_RECLAIM_MAPS: u32 = 0;
#[allow(missing_docs)]
pub const mm_reclaim_mode_MM_RECLAIM_VERIFY: u32 = 1;
#[allow(missing_docs)]
pub const mm_reclaim_mode_MM_RECLAIM_EXHAUSTIVE: u32 = 2;

/// What `/proc/vmstat` counts. Nothing here shows it.
macro_rules! events {
    ($($name:ident,)*) => {
        enum Events { $($name,)* }
        $(
            #[allow(missing_docs)]
            pub const $name: u32 = Events::$name as u32;
        )*
    };
}

events! {
    vm_event_item_SHRINKER_ID_ALLOC,
    vm_event_item_SHRINKER_ID_FREE,
    vm_event_item_SHRINKER_MAP_OPEN,
    vm_event_item_SHRINKER_MAP_CLOSE,
    vm_event_item_SHRINKER_TABLE_ALLOC,
    vm_event_item_SHRINKER_TABLE_FREE,
    vm_event_item_SHRINKER_TABLE_BYTES_ALLOC,
    vm_event_item_SHRINKER_TABLE_BYTES_FREE,
    vm_event_item_SHRINKER_TABLE_GROW,
    vm_event_item_SHRINKER_UNIT_ALLOC,
    vm_event_item_SHRINKER_UNIT_FREE,
    vm_event_item_SHRINKER_UNIT_INSTALL,
    vm_event_item_MEMCG_UNCHARGED_SKIP,
    vm_event_item_MEMCG_EXCESS_PASS,
    vm_event_item_MEMCG_EXCESS_PASS_IN_VAIN,
}

/// What became of the statistics of a memcg.
pub const memcg_stats_state_MEMCG_STATS_ACTIVE: u32 = 0;
/// See there.
pub const memcg_stats_state_MEMCG_STATS_DRAINING: u32 = 1;
/// See there.
pub const memcg_stats_state_MEMCG_STATS_FLUSHED: u32 = 2;
/// See there.
pub const memcg_stats_state_MEMCG_STATS_FREED: u32 = 3;
/// See there.
pub const memcg_stats_state_NR_MEMCG_STATS_STATES: u32 = 4;

/// Counts nothing.
///
/// # Safety
///
/// None is needed.
pub unsafe fn count_vm_events(_item: u32, _delta: core::ffi::c_long) {}

/// Counts nothing.
///
/// # Safety
///
/// None is needed.
pub unsafe fn count_shrinker_walk(_bits: usize, _spurious: usize) {}

/// What the boot parameter asks for.
pub static mut mm_reclaim_mode: i32 = 0;

/// The size of a unit, whose atomics are larger here.
pub const SHRINKER_UNIT_SIZE: u32 = size_of::<Unit>() as u32;

#[repr(C)]
struct Unit {
    refcount: Refcount,
    bits: Atomic<usize>,
    nr_deferred: [Atomic<isize>; 64],
}

/// What RCU queues.
pub struct callback_head(());

/// The function that RCU calls.
pub type rcu_callback_t = Option<unsafe extern "C" fn(*mut callback_head)>;

/// Calls `func` after a grace period.
///
/// # Safety
///
/// As in C: `func` may be called with `head` as soon as nobody is left who held the read-side lock
/// now.
pub unsafe fn call_rcu(head: *mut callback_head, func: rcu_callback_t) {
    if let Some(func) = func {
        model::call_rcu(head, func);
    }
}

/// Returns whether an allocation may sleep.
///
/// # Safety
///
/// None.
pub unsafe fn gfpflags_allow_blocking(gfp: gfp_t) -> bool {
    Flags::from_raw(gfp).allow_blocking()
}

/// Lets others run.
///
/// # Safety
///
/// None.
pub unsafe fn cond_resched() -> i32 {
    model::check_may_sleep("somebody else runs");
    0
}

/// Allocates a zeroed unit.
///
/// # Safety
///
/// None.
pub unsafe fn shrinker_unit_zalloc(flags: gfp_t, _node: i32) -> *mut c_void {
    Flags::from_raw(flags).check_context();
    model::zalloc()
}

/// Frees a unit.
///
/// # Safety
///
/// `unit` must come from [`shrinker_unit_zalloc`], and nobody may use it any more.
pub unsafe fn shrinker_unit_free(unit: *mut c_void) {
    model::free(unit);
}

/// Returns the possible node after `last`.
///
/// # Safety
///
/// None.
pub unsafe fn next_possible_node(last: i32) -> i32 {
    model::next_node(last, model::possible_nodes())
}

/// Returns a word of the nodes with memory: there is one.
///
/// # Safety
///
/// `at` must be zero.
pub unsafe fn shrinker_nodes_word(at: u32) -> usize {
    assert_eq!(at, 0);
    model::nodes_with_memory()
}

/// Returns the node that had memory first: no test adds one before it.
///
/// # Safety
///
/// None.
pub unsafe fn shrinker_home_node() -> i32 {
    model::next_node(-1, model::nodes_with_memory())
}
