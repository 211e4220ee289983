// SPDX-License-Identifier: GPL-2.0

//! What the crate asks of the rest of the kernel: nodes, memory, scheduling, counters.
//!
//! Owns the references to units, which C allocates from a slab cache of their own: a `kmalloc`
//! bucket would waste nearly half of it. Decides nothing.
//!
//! A unit is installed in the context of the allocation that needs it. That may be `xas_alloc()`,
//! which allocates the nodes of a page cache with interrupts off.
//!
//! C header: [`include/linux/mm_reclaim.h`](srctree/include/linux/mm_reclaim.h)

use core::{
    ops::Deref,
    ptr::NonNull, //
};
use kernel::{
    alloc::{
        AllocError,
        Flags, //
    },
    bindings,
    page::PAGE_SIZE,
    prelude::*,
    sync::{
        aref::{
            ARef,
            AlwaysRefCounted, //
        },
        Refcount, //
    }, //
};

use crate::{
    bits::{
        AtomicBits,
        Bits, //
    },
    unit::Unit, //
};

/// The number of a NUMA node.
///
/// # Invariants
///
/// The node is a possible one, so that every memcg has a `struct mem_cgroup_per_node` for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Node(i32);

impl Node {
    /// Creates a node from its number.
    ///
    /// # Safety
    ///
    /// `nid` must be a possible node.
    pub(crate) unsafe fn from_raw(nid: i32) -> Self {
        // INVARIANT: As the safety requirements say.
        Self(nid)
    }

    /// Returns the number of the node.
    pub(crate) fn as_raw(self) -> i32 {
        self.0
    }

    /// Iterates over all possible nodes, in ascending order.
    pub(crate) fn possible() -> impl Iterator<Item = Node> {
        let mut last = -1;

        core::iter::from_fn(move || {
            // SAFETY: An FFI call with no additional requirements.
            last = unsafe { bindings::next_possible_node(last) };

            // INVARIANT: It is a possible node, or none.
            (last < bindings::MAX_NUMNODES as i32).then_some(Self(last))
        })
    }

    /// Iterates over the nodes that have memory, or are about to get some, in ascending order.
    ///
    /// There may be more of them later, but not fewer: see `install_shrinker_node()`.
    pub(crate) fn with_memory() -> impl Iterator<Item = Node> {
        const WORDS: u32 = bindings::MAX_NUMNODES.div_ceil(AtomicBits::LEN);

        (0..WORDS).flat_map(|at| {
            // SAFETY: `at` is below the number of words of a `nodemask_t`.
            let word = Bits::from_raw(unsafe { bindings::shrinker_nodes_word(at) });

            // INVARIANT: Only possible nodes get memory.
            word.map(move |bit| Self(at.wrapping_mul(AtomicBits::LEN).wrapping_add(bit) as i32))
        })
    }

    /// Returns the node that keeps the deferred work which belongs to no node with units.
    ///
    /// The root has its units there. It is the same node for ever.
    pub(crate) fn home() -> Self {
        // INVARIANT: A node with memory is a possible one.
        // SAFETY: An FFI call with no additional requirements.
        Self(unsafe { bindings::shrinker_home_node() })
    }
}

/// A unit, with the number of references on it.
///
/// Every table that lists a unit holds a reference, so that tables can share units and be freed in
/// any order.
#[repr(C)]
pub(crate) struct SharedUnit {
    refcount: Refcount,
    unit: Unit,
}

// C allocates units, by this size and with the alignment of a `long`, and never looks inside.
const _: () = assert!(size_of::<SharedUnit>() == bindings::SHRINKER_UNIT_SIZE as usize);
const _: () = assert!(align_of::<SharedUnit>() <= align_of::<c_long>());

impl SharedUnit {
    /// Allocates a unit without bits and deferred work, preferably on `node`.
    ///
    /// May sleep if `flags` allow it.
    pub(crate) fn alloc(flags: Flags, node: Node) -> Result<ARef<Self>, AllocError> {
        // SAFETY: An FFI call with no additional requirements.
        let raw = unsafe { bindings::shrinker_unit_zalloc(flags.as_raw(), node.as_raw()) };
        let unit = NonNull::new(raw.cast::<Self>()).ok_or(AllocError)?;

        // SAFETY: `unit` points to zeroed memory of the size and alignment asserted above, and all
        // in it are atomic integers, for which zero is valid. Nobody else knows of it.
        unsafe { unit.as_ref() }.refcount.set(1);
        count(VmEvent::UnitAlloc, 1);

        // SAFETY: The reference count is one, and that one is relinquished here.
        Ok(unsafe { ARef::from_raw(unit) })
    }
}

impl Deref for SharedUnit {
    type Target = Unit;

    fn deref(&self) -> &Unit {
        &self.unit
    }
}

// SAFETY: A unit is freed only when its reference count drops to zero, and every one comes from
// `SharedUnit::alloc`, which starts the count.
unsafe impl AlwaysRefCounted for SharedUnit {
    fn inc_ref(&self) {
        self.refcount.inc();
    }

    unsafe fn dec_ref(unit: NonNull<Self>) {
        // SAFETY: The caller owns a reference.
        if unsafe { unit.as_ref() }.refcount.dec_and_test() {
            // SAFETY: That was the last reference, and the unit comes from
            // `shrinker_unit_zalloc()`. There is nothing in it to drop.
            unsafe { bindings::shrinker_unit_free(unit.as_ptr().cast()) };
            count(VmEvent::UnitFree, 1);
        }
    }
}

/// Allocates a vector with room for `capacity` elements.
///
/// May sleep if `flags` allow it; then freeing the vector may sleep, too, except in an RCU
/// callback. If they don't allow it, more than a page is refused: only `vmalloc()` might have it,
/// whose memory must not be freed where sleeping is not allowed.
pub(crate) fn vec_with_capacity<T>(capacity: usize, flags: Flags) -> Result<KVVec<T>, AllocError> {
    let is_large = capacity.saturating_mul(size_of::<T>()) > PAGE_SIZE;

    // SAFETY: An FFI call with no additional requirements.
    if is_large && !unsafe { bindings::gfpflags_allow_blocking(flags.as_raw()) } {
        return Err(AllocError);
    }
    KVVec::with_capacity(capacity, flags)
}

/// Lets others run, if it is time. Must be called only where sleeping is allowed.
pub(crate) fn cond_resched() {
    // SAFETY: An FFI call with no additional requirements.
    unsafe { bindings::cond_resched() };
}

/// Returns the time in jiffies.
pub(crate) fn jiffies() -> usize {
    // SAFETY: It changes at any time, and is read as C reads it.
    unsafe { (&raw const bindings::jiffies).read_volatile() }
}

/// What `/proc/vmstat` counts. Of what comes and goes, both are counted, so that their difference
/// is what is there.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(crate) enum VmEvent {
    /// A shrinker got an id.
    IdAlloc = bindings::vm_event_item_SHRINKER_ID_ALLOC,
    /// A shrinker gave its id back.
    IdFree = bindings::vm_event_item_SHRINKER_ID_FREE,
    /// A memcg got its first unit.
    MapOpen = bindings::vm_event_item_SHRINKER_MAP_OPEN,
    /// A memcg that had units went offline.
    MapClose = bindings::vm_event_item_SHRINKER_MAP_CLOSE,
    /// A table was allocated.
    TableAlloc = bindings::vm_event_item_SHRINKER_TABLE_ALLOC,
    /// A table was freed, after a grace period if it was published.
    TableFree = bindings::vm_event_item_SHRINKER_TABLE_FREE,
    /// Bytes of tables that were allocated.
    TableBytesAlloc = bindings::vm_event_item_SHRINKER_TABLE_BYTES_ALLOC,
    /// Bytes of tables that were freed.
    TableBytesFree = bindings::vm_event_item_SHRINKER_TABLE_BYTES_FREE,
    /// A table gave way to a larger one.
    TableGrow = bindings::vm_event_item_SHRINKER_TABLE_GROW,
    /// A unit was allocated.
    UnitAlloc = bindings::vm_event_item_SHRINKER_UNIT_ALLOC,
    /// A unit was freed, after a grace period if it was installed.
    UnitFree = bindings::vm_event_item_SHRINKER_UNIT_FREE,
    /// A unit was installed.
    UnitInstall = bindings::vm_event_item_SHRINKER_UNIT_INSTALL,
    /// A subtree to which nothing is charged was skipped by reclaim.
    MemcgSkip = bindings::vm_event_item_MEMCG_UNCHARGED_SKIP,
    /// A first pass of reclaim, over memcgs in excess of their soft limits.
    #[cfg(CONFIG_MEMCG_V1)]
    ExcessPass = bindings::vm_event_item_MEMCG_EXCESS_PASS,
    /// One that a second pass had to follow.
    #[cfg(CONFIG_MEMCG_V1)]
    ExcessPassInVain = bindings::vm_event_item_MEMCG_EXCESS_PASS_IN_VAIN,
}

/// Counts an event so many times. Does not sleep.
pub(crate) fn count(event: VmEvent, nr: usize) {
    if cfg!(CONFIG_VM_EVENT_COUNTERS) {
        // SAFETY: An FFI call with no additional requirements.
        unsafe { bindings::count_vm_events(event as u32, nr as c_long) };
    }
}

/// Counts a walk of one memcg: shrinkers that were called for a bit, and those of them that were
/// empty. Does not sleep.
pub(crate) fn count_walk(bits: usize, spurious: usize) {
    if cfg!(CONFIG_VM_EVENT_COUNTERS) {
        // SAFETY: An FFI call with no additional requirements.
        unsafe { bindings::count_shrinker_walk(bits, spurious) };
    }
}

/// Returns what the boot parameter `mm_reclaim=` asks for. Without the oracle, it asks for nothing.
#[inline(always)]
pub(crate) fn mode() -> bindings::mm_reclaim_mode {
    if !cfg!(CONFIG_MEMCG_SHRINKER_RUST_VERIFY) {
        return bindings::mm_reclaim_mode_MM_RECLAIM_MAPS;
    }
    // SAFETY: Written only early at boot, when nothing else runs.
    unsafe { bindings::mm_reclaim_mode as bindings::mm_reclaim_mode }
}
