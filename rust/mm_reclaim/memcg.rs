// SPDX-License-Identifier: GPL-2.0

//! C's memory cgroups as Rust types.
//!
//! Owns how memcgs are referenced and walked, and where in C's structures Rust keeps what belongs
//! to one.
//!
//! C header: [`include/linux/memcontrol.h`](srctree/include/linux/memcontrol.h)

use core::{
    mem::ManuallyDrop,
    ops::Deref,
    ptr::{
        self,
        NonNull, //
    }, //
};
use kernel::{
    alloc::Flags,
    bindings,
    container_of,
    declare_trace,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Full,
            Relaxed, //
        },
        rcu::{
            Guard,
            RcuFreed, //
        }, //
    },
    time::msecs_to_jiffies,
    types::Opaque, //
};

#[cfg(CONFIG_MEMCG_V1)]
use crate::soft_limit::{
    HasSoftLimit,
    SoftLimitState, //
};
use crate::{
    dying::{
        Drainer,
        HasStats,
        Quiet,
        State,
        Target,
        Unused, //
    },
    iter::{
        Group,
        HasParent,
        SharedPosition,
        Step,
        Verdict, //
    },
    layout::{
        cast_field,
        mirrors,
        Mirrors, //
    },
    map::{
        on_node::{
            HasMap,
            MapOnNode,
            NodeSummary, //
        },
        Growth,
        Map, //
    },
    memcg_bitmap::{
        HasMemcgId,
        MemcgBitmap,
        MemcgId, //
    },
    memcg_table::MemcgTable,
    priority::{
        HasPriority,
        PriorityState, //
    },
    reclaimable::HasLru,
    retain::{
        HasRetain,
        RetainState, //
    },
    shrinker_id::ShrinkerId,
    sys::{
        self,
        Node, //
    }, //
};

/// Wraps `struct mem_cgroup`, once its per-node parts are allocated.
///
/// A `&MemCgroup` says that the memcg is valid, and no more. It may come from a caller that has a
/// reference, from the css of a child, or from RCU: so there may be none left, and the only safe
/// way to another one is [`Group::try_get`], which returns a [`MemCgroupRef`].
#[repr(transparent)]
pub(crate) struct MemCgroup(Opaque<bindings::mem_cgroup>);

/// The map of a memcg, as seen from one node.
pub(crate) type MemCgroupMap<'a> = MapOnNode<'a, MemCgroup>;

// SAFETY: What C code and Rust code share by way of `&MemCgroup` is atomic, or has locks.
unsafe impl Sync for MemCgroup {}

/// All memcgs but the root, from when nothing keeps them from coming online any more until they go
/// offline.
static MEMCGS: MemcgTable<MemCgroup> = MemcgTable::new();

impl MemCgroup {
    /// Creates a reference to a memcg.
    ///
    /// # Safety
    ///
    /// `memcg` must be valid for `'a`, and its per-node parts allocated.
    pub(crate) unsafe fn from_raw<'a>(memcg: *mut bindings::mem_cgroup) -> &'a Self {
        // SAFETY: As the safety requirements say; the type is transparent.
        unsafe { &*memcg.cast() }
    }

    /// Returns the C object.
    pub(crate) fn as_raw(&self) -> *mut bindings::mem_cgroup {
        self.0.get()
    }

    fn atomic_stats_state(&self) -> &Atomic<u32> {
        // SAFETY: `state` is a field of the valid memcg, and C only reads it.
        unsafe { &*cast_field(&raw const (*self.as_raw()).dying.state) }
    }

    /// Returns the root memcg, or none early at boot.
    pub(crate) fn root() -> Option<&'static Self> {
        // SAFETY: Set once at boot, when nothing else runs, and never freed.
        unsafe { bindings::root_mem_cgroup.cast::<Self>().as_ref() }
    }

    /// Returns the id by which user space knows the cgroup: the inode number of its directory.
    #[cfg(CONFIG_DEBUG_FS)]
    pub(crate) fn id(&self) -> u64 {
        // SAFETY: The memcg is valid as long as `self`.
        unsafe { bindings::mem_cgroup_id(self.as_raw()) }
    }

    /// Warns that walks of all memcgs pass over this one, though it is not idle. There is no such
    /// warning without the oracle.
    pub(crate) fn warn_unlisted(&self, node: Node) {
        if cfg!(CONFIG_MEMCG_SHRINKER_RUST_VERIFY) {
            // SAFETY: The memcg is valid as long as `self`.
            unsafe { bindings::shrinker_warn_unlisted(self.as_raw(), node.as_raw()) };
        }
    }

    /// Warns that global reclaim passes over the memcg, though it has pages. There is no such
    /// warning without the oracle.
    pub(crate) fn warn_lru_unlisted(&self, node: Node) {
        if cfg!(CONFIG_MEMCG_SHRINKER_RUST_VERIFY) {
            // SAFETY: The memcg is valid as long as `self`.
            unsafe { bindings::memcg_warn_lru_unlisted(self.as_raw(), node.as_raw()) };
        }
    }

    /// Brings the effective protection of this memcg and all above it, from the top down, up to
    /// date. Does not sleep.
    pub(crate) fn calculate_protection_path(&self) {
        // SAFETY: The memcg is valid as long as `self`, and so are those above it. Null stands for
        // the root.
        unsafe {
            bindings::mem_cgroup_calculate_protection_path(ptr::null_mut(), self.as_raw());
        }
    }

    fn atomic_last_id(&self) -> &Atomic<u32> {
        // SAFETY: `shrinker_last_id` is a field of the valid memcg, and accessed by Rust only.
        unsafe { &*cast_field(&raw const (*self.as_raw()).shrinker_last_id) }
    }

    /// Makes room for its id where look-ups will find the memcg. May sleep if `flags` allow it;
    /// the caller holds `cgroup_mutex`. Returns `ENOMEM` if memory is short.
    pub(crate) fn reserve_id(&self, flags: Flags) -> Result {
        self.listed_id()
            .map_or(Ok(()), |id| MEMCGS.reserve(id, flags))
    }

    /// Lets look-ups of its id, for which there is room, find the memcg. Does not sleep.
    ///
    /// # Safety
    ///
    /// The memcg must be valid, and keep its id, until a grace period has passed after
    /// [`forget_id`](Self::forget_id).
    pub(crate) unsafe fn publish_id(&self) {
        if let Some(id) = self.listed_id() {
            // Who finds the memcg in the table finds this, too.
            self.atomic_last_id().store(id.as_raw().into(), Relaxed);
            // SAFETY: As the safety requirements say: nothing else copies what the table has.
            MEMCGS.insert(id, unsafe { RcuFreed::new(NonNull::from(self)) });
        }
    }

    /// Lets look-ups of its id find nothing any more. Does not sleep. Has no effect after the id
    /// went back.
    pub(crate) fn forget_id(&self) {
        if let Some(id) = self.listed_id() {
            MEMCGS.remove(id);
        }
    }

    /// Returns whether this is the root memcg.
    pub(crate) fn is_root(&self) -> bool {
        Self::root().is_some_and(|root| ptr::eq(root, self))
    }

    /// Returns whether the memcg was brought online and has not gone offline.
    pub(crate) fn is_online(&self) -> bool {
        // SAFETY: The memcg is valid as long as `self`. The flags of a css change at any time, as
        // C reads them too.
        let flags = unsafe { (&raw const (*self.css()).flags).read_volatile() };

        flags & bindings::CSS_ONLINE != 0
    }

    /// Calls `f` with flags by which what it allocates is charged to this memcg; to the parent once
    /// it is offline, and never to the root.
    ///
    /// What is charged doesn't keep the memcg alive.
    pub(crate) fn charged<R>(&self, flags: Flags, f: impl FnOnce(Flags) -> R) -> R {
        // SAFETY: The memcg is valid as long as `self`, and so for the scope that ends below.
        let outer = unsafe { bindings::set_active_memcg(self.as_raw()) };
        let result = f(flags | __GFP_ACCOUNT);

        // SAFETY: Whoever began the outer scope, in the same context, keeps its memcg valid.
        unsafe { bindings::set_active_memcg(outer) };
        result
    }

    /// Notes that its map has grown, for the shrinker with `id` or for all of a new node. Does not
    /// sleep.
    pub(crate) fn note_growth(&self, id: Option<ShrinkerId>, growth: Growth) {
        let id = id.map_or(-1, |id| id.0 as c_int);

        self.add_map_bytes(growth.bytes);
        // SAFETY: The memcg is valid as long as `self`.
        unsafe { mm_reclaim_install(self.as_raw(), id, growth.nr_units, growth.bytes) };
    }

    /// Notes that its map, which had so many bytes, was closed. Does not sleep.
    pub(crate) fn note_close(&self, bytes: usize) {
        if bytes != 0 {
            self.add_map_bytes((bytes as isize).saturating_neg());
        }
    }

    /// Adds to what `memory.stat` says that maps take. What is added for a memcg that goes offline
    /// is the next one's above, which has the sum.
    fn add_map_bytes(&self, bytes: isize) {
        let state = bindings::memcg_stat_item_MEMCG_SHRINKER_MAP_B;

        // SAFETY: The memcg is valid as long as `self`.
        unsafe { bindings::mod_memcg_state(self.as_raw(), state, bytes as c_int) };
    }

    /// Notes that a walk called shrinkers for their bits: how many, how many of them had nothing,
    /// and how many objects the others freed. Does not sleep.
    pub(crate) fn note_walk(&self, node: Node, visited: usize, spurious: usize, freed: usize) {
        sys::count_walk(visited, spurious);
        // SAFETY: The memcg is valid as long as `self`.
        unsafe { mm_reclaim_walk(self.as_raw(), node.as_raw(), visited, spurious, freed) };
    }

    /// Reads how many pages are charged to the memcg and its descendants.
    pub(crate) fn usage(&self) -> usize {
        // SAFETY: The memcg is valid as long as `self`. The counter changes at any time, and is
        // read as `page_counter_read()` does it.
        unsafe { (&raw const (*self.as_raw()).memory.usage.counter).read_volatile() as usize }
    }

    /// Returns the position of the walk that reclaimers of the memcg on `node` share.
    pub(crate) fn reclaim_iter(&self, node: Node) -> ReclaimIter<'_> {
        // INVARIANT: The position is one of this memcg's.
        ReclaimIter {
            root: self,
            // SAFETY: `iter` is a field of the valid per-node part.
            position: unsafe { &*cast_field(&raw const (*self.per_node(node)).iter) },
        }
    }

    /// Returns another position than that of [`reclaim_iter`](Self::reclaim_iter).
    ///
    /// # Safety
    ///
    /// `position` must stay valid, be used for walks that begin with this memcg only, and be taken
    /// back from memcgs that go as that one is.
    pub(crate) unsafe fn other_iter(
        &self,
        position: NonNull<bindings::mem_cgroup_reclaim_iter>,
    ) -> ReclaimIter<'_> {
        // INVARIANT: The caller vouches for the position, and what is in it.
        ReclaimIter {
            root: self,
            // SAFETY: The caller keeps it valid.
            position: unsafe { &*cast_field(position.as_ptr()) },
        }
    }

    /// Returns the position of the walk in which reclaimers of the memcg on `node` visit groups in
    /// excess only.
    ///
    /// It is another one, because they would move that of all groups past those that they refuse.
    #[cfg(CONFIG_MEMCG_V1)]
    pub(crate) fn excess_iter(&self, node: Node) -> ReclaimIter<'_> {
        // INVARIANT: This position is one of the memcg's, too.
        ReclaimIter {
            root: self,
            // SAFETY: `excess_iter` is a field of the valid per-node part.
            position: unsafe { &*cast_field(&raw const (*self.per_node(node)).excess_iter) },
        }
    }

    /// Returns whether the memcg is `root` or below it.
    #[inline]
    fn is_descendant(&self, root: &Self) -> bool {
        // SAFETY: Both are valid, and so are their cgroups.
        unsafe { bindings::mem_cgroup_is_descendant(self.as_raw(), root.as_raw()) }
    }

    fn per_node(&self, node: Node) -> *mut bindings::mem_cgroup_per_node {
        let memcg = self.as_raw();

        // SAFETY: `nodeinfo` has an element for every possible node, and a `Node` is one. The
        // elements don't change as long as the memcg is valid.
        unsafe {
            *(&raw const (*memcg).nodeinfo)
                .cast::<*mut bindings::mem_cgroup_per_node>()
                .add(node.as_raw() as usize)
        }
    }

    fn css(&self) -> *mut bindings::cgroup_subsys_state {
        // SAFETY: `css` is a field of the valid memcg.
        unsafe { &raw mut (*self.as_raw()).css }
    }

    /// Creates a reference to the memcg of a css.
    ///
    /// # Safety
    ///
    /// `css` must be null, or part of a memcg that is valid for `'a`.
    unsafe fn from_css<'a>(css: *mut bindings::cgroup_subsys_state) -> Option<&'a Self> {
        if css.is_null() {
            return None;
        }
        // SAFETY: As the safety requirements say.
        Some(unsafe { Self::from_raw(container_of!(css, bindings::mem_cgroup, css)) })
    }
}

impl HasParent for MemCgroup {
    #[inline]
    fn parent(&self) -> Option<&Self> {
        // SAFETY: A css holds a reference on its parent, which never changes. The parent of a css
        // of the memcg controller is part of a memcg.
        unsafe { Self::from_css((*self.css()).parent) }
    }
}

impl HasMemcgId for MemCgroup {
    fn listed_id(&self) -> Option<MemcgId> {
        if self.is_root() {
            return None;
        }
        // SAFETY: The memcg is valid as long as `self`. The id is zeroed after the map was closed.
        let id = unsafe { (&raw const (*self.as_raw()).id.id).read_volatile() };

        MemcgId::from_raw(id)
    }

    fn with_id<'g>(&'g self, id: MemcgId, guard: &'g Guard) -> Option<&'g Self> {
        MEMCGS.get(id, guard)
    }
}

impl HasMap for MemCgroup {
    fn map(&self) -> &Map {
        // SAFETY: `shrinker_map` is a field of the valid memcg, has the layout of `Map`, and is
        // accessed by Rust only.
        unsafe { &*cast_field(&raw const (*self.as_raw()).shrinker_map) }
    }

    fn node_summary(&self, node: Node) -> &NodeSummary {
        // SAFETY: `shrinker_node_info` is a field of the valid per-node part, has the layout of
        // `NodeSummary`, and is accessed by Rust only.
        unsafe { &*cast_field(&raw const (*self.per_node(node)).shrinker_node_info) }
    }

    fn bitmap(&self, node: Node) -> &MemcgBitmap {
        // SAFETY: It is one of the arrays with a bitmap for every possible node.
        unsafe { bitmap_of(&raw const bindings::shrinker_memcg_bitmaps, node) }
    }

    #[inline]
    fn note_listed(&self, node: Node) {
        // SAFETY: The memcg is valid as long as `self`.
        unsafe { mm_reclaim_list(self.as_raw(), node.as_raw()) };
    }
}

declare_trace! {
    /// A memcg got units.
    ///
    /// # Safety
    ///
    /// `memcg` must be valid.
    unsafe fn mm_reclaim_install(
        memcg: *mut bindings::mem_cgroup,
        shrinker_id: c_int,
        nr_units: usize,
        bytes: isize,
    );

    /// A memcg that was idle has something to shrink on a node.
    ///
    /// # Safety
    ///
    /// `memcg` must be valid.
    unsafe fn mm_reclaim_list(memcg: *mut bindings::mem_cgroup, nid: c_int);

    /// A walk of a memcg called shrinkers for their bits.
    ///
    /// # Safety
    ///
    /// `memcg` must be valid.
    unsafe fn mm_reclaim_walk(
        memcg: *mut bindings::mem_cgroup,
        nid: c_int,
        visited: usize,
        spurious: usize,
        freed: usize,
    );
}

/// Returns the bitmap of a node.
///
/// # Safety
///
/// `bitmaps` must have an element for every possible node: bitmaps that were allocated zeroed
/// before the first memcg, are accessed by Rust only, and never freed.
unsafe fn bitmap_of<A>(bitmaps: *const A, node: Node) -> &'static MemcgBitmap {
    let bitmaps = bitmaps.cast::<*mut bindings::shrinker_memcg_bitmap>();

    // SAFETY: As the safety requirements say; a `Node` is a possible one, and the bitmaps have the
    // layout of `MemcgBitmap`.
    unsafe { &*cast_field(*bitmaps.add(node.as_raw() as usize)) }
}

impl HasLru for MemCgroup {
    fn lru_bitmap(&self, node: Node) -> &MemcgBitmap {
        // SAFETY: It is one of the arrays with a bitmap for every possible node.
        unsafe { bitmap_of(&raw const bindings::lru_memcg_bitmaps, node) }
    }

    fn lru_is_empty(&self, node: Node) -> bool {
        // SAFETY: The memcg is valid as long as `self`, and the node is a possible one.
        unsafe { bindings::memcg_lru_is_empty(self.as_raw(), node.as_raw()) }
    }

    fn with_lru_locked(&self, node: Node, f: impl FnOnce()) {
        // SAFETY: The memcg is valid as long as `self`, and the node is a possible one. No caller
        // has a lock of lists, or interrupts off.
        unsafe { bindings::memcg_lock_lru(self.as_raw(), node.as_raw()) };
        f();
        // SAFETY: The lock was taken just now.
        unsafe { bindings::memcg_unlock_lru(self.as_raw(), node.as_raw()) };
    }

    fn last_id(&self) -> u32 {
        self.atomic_last_id().load(Relaxed)
    }
}

impl HasStats for MemCgroup {
    type Removed = RemovedMemcg;

    #[inline]
    fn stats_state(&self) -> u32 {
        self.atomic_stats_state().load(Relaxed)
    }

    #[inline]
    fn set_stats_state(&self, state: State, _: &Drainer) {
        self.atomic_stats_state().store(state as u32, Relaxed);
    }

    #[inline]
    fn nr_below(&self) -> &[Atomic<i32>; State::NR] {
        // SAFETY: `below` is a field of the valid memcg, and C accesses it by atomic operations.
        unsafe { &*cast_field(&raw const (*self.as_raw()).dying.below) }
    }

    fn redirect_stats(&self, to: &Target<'_, Self>) {
        // SAFETY: Both memcgs are valid. By the invariants of `Target`, the statistics stay as long
        // as somebody may write them by way of this memcg.
        unsafe { bindings::memcg_redirect_stats(self.as_raw(), to.get().as_raw()) };
    }

    fn note_own_stats(memcg: Quiet<'_, Self>) {
        // SAFETY: The memcg is valid.
        unsafe { bindings::memcg_note_own_stats(memcg.get().as_raw()) };
    }

    fn flush_stats(&self) {
        // SAFETY: The memcg is valid.
        unsafe { bindings::memcg_flush_noted_stats(self.as_raw()) };
    }

    fn free_own_stats(memcg: Unused<'_, Self>) {
        // SAFETY: The memcg is valid, and by the invariants of `Unused`, nobody uses its own
        // per-CPU statistics, and nobody adds to its sums. C sets the pointers to those to null,
        // and these to zeros, for readers, who are under RCU.
        unsafe { bindings::memcg_free_own_stats(memcg.get().as_raw()) };
    }
}

impl HasPriority for MemCgroup {
    fn priority(&self) -> &PriorityState {
        // SAFETY: `priority` is a field of the valid memcg, has the layout of `PriorityState`, and
        // is accessed by Rust only.
        unsafe { &*cast_field(&raw const (*self.as_raw()).priority) }
    }

    fn now() -> usize {
        sys::jiffies()
    }

    fn window() -> usize {
        msecs_to_jiffies(1000)
    }
}

impl HasRetain for MemCgroup {
    fn retain(&self) -> &RetainState {
        // SAFETY: `retain` is a field of the valid memcg, has the layout of `RetainState`, and is
        // accessed by Rust only.
        unsafe { &*cast_field(&raw const (*self.as_raw()).retain) }
    }
}

/// The memcgs in excess.
#[cfg(CONFIG_MEMCG_V1)]
static IN_EXCESS: MemcgBitmap = MemcgBitmap::new();

#[cfg(CONFIG_MEMCG_V1)]
impl HasSoftLimit for MemCgroup {
    fn excess(&self) -> &SoftLimitState {
        // SAFETY: `excess` is a field of the valid memcg, and accessed by Rust only.
        unsafe { &*cast_field(&raw const (*self.as_raw()).excess) }
    }

    fn exceeds(&self) -> bool {
        // SAFETY: The memcg is valid as long as `self`. Both change at any time.
        let limit = unsafe { (&raw const (*self.as_raw()).excess_limit).read_volatile() };

        self.usage() > limit
    }

    fn excess_bitmap(&self) -> &MemcgBitmap {
        &IN_EXCESS
    }

    fn excess_top(&self, node: Node) -> &Atomic<u32> {
        // SAFETY: `excess_top` is a field of the valid per-node part, and accessed by Rust only.
        unsafe { &*cast_field(&raw const (*self.per_node(node)).excess_top) }
    }
}

/// Returns whether memcgs exist at all on this system.
pub(crate) fn is_disabled() -> bool {
    // SAFETY: An FFI call with no additional requirements.
    unsafe { bindings::mem_cgroup_disabled() }
}

/// Returns whether the accounting of kernel memory was turned off at boot.
pub(crate) fn is_kmem_disabled() -> bool {
    // SAFETY: An FFI call with no additional requirements.
    unsafe { bindings::mem_cgroup_kmem_disabled() }
}

/// A reference that keeps a memcg.
///
/// # Invariants
///
/// Owns a reference on the css of a valid memcg.
pub(crate) struct MemCgroupRef(NonNull<MemCgroup>);

impl MemCgroupRef {
    /// Hands the reference over to C.
    pub(crate) fn into_raw(self) -> *mut bindings::mem_cgroup {
        ManuallyDrop::new(self).as_raw()
    }
}

impl Deref for MemCgroupRef {
    type Target = MemCgroup;

    fn deref(&self) -> &MemCgroup {
        // SAFETY: By the type invariants, the memcg is valid as long as `self`.
        unsafe { self.0.as_ref() }
    }
}

/// A reference on a memcg that is to be drained.
///
/// # Invariants
///
/// The memcg is offline, as are all below it; those that have a reference were taken before. No
/// other task has such a reference.
pub(crate) struct RemovedMemcg(MemCgroupRef);

impl RemovedMemcg {
    /// Takes a memcg off the list of those that were removed a while ago and are still there. May
    /// sleep.
    ///
    /// # Safety
    ///
    /// No other task may have what this returned.
    pub(crate) unsafe fn take() -> Option<Self> {
        // SAFETY: An FFI call with no additional requirements.
        let memcg = NonNull::new(unsafe { bindings::memcg_dying_take() })?;

        // INVARIANT: It comes with a reference. Memcgs get to the end of the list when they go
        // offline, which all below one do before it.
        Some(Self(MemCgroupRef(memcg.cast())))
    }
}

impl Deref for RemovedMemcg {
    type Target = MemCgroup;

    fn deref(&self) -> &MemCgroup {
        &self.0
    }
}

impl Drop for MemCgroupRef {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: By the type invariants, there is a reference to give up.
        unsafe { bindings::mem_cgroup_put(self.as_raw()) };
    }
}

impl Group for MemCgroup {
    type Ref = MemCgroupRef;

    #[inline]
    fn next<'g>(
        pos: Option<&'g Self>,
        verdict: Verdict,
        root: &'g Self,
        _guard: &'g Guard,
    ) -> Option<&'g Self> {
        let Some(mut group) = pos else {
            return Some(root);
        };
        // SAFETY: The memcgs are valid, and the RCU read-side lock is held. What is returned is
        // freed after a grace period at the earliest. A css of the memcg controller is part of a
        // memcg.
        let next_child = |parent: &Self, child| unsafe {
            Self::from_css(bindings::css_next_child(child, parent.css()))
        };

        // Not `css_next_descendant_pre()`, which never ends well if `pos` is not below `root`.
        if verdict != Verdict::SkipTree {
            let child = next_child(group, ptr::null_mut());
            if child.is_some() {
                return child;
            }
        }
        // Not by way of `css_rightmost_descendant()`: a child that is created behind the one that
        // it returns would come next.
        while !ptr::eq(group, root) {
            let parent = group.parent()?;

            let next = next_child(parent, group.css());
            if next.is_some() {
                return next;
            }
            group = parent;
        }
        None
    }

    #[inline]
    fn try_get(&self) -> Option<MemCgroupRef> {
        // SAFETY: The memcg is valid as long as `self`.
        if !unsafe { bindings::mem_cgroup_tryget(self.as_raw()) } {
            return None;
        }
        // INVARIANT: That got a reference.
        Some(MemCgroupRef(NonNull::from(self)))
    }

    fn serial(&self) -> u64 {
        // SAFETY: The memcg is valid as long as `self`. The number never changes.
        unsafe { (*self.css()).serial_nr }
    }
}

/// What Rust keeps in `struct mem_cgroup_reclaim_iter`. Valid when it is zeroed.
#[repr(C)]
struct Position {
    memcg: Atomic<*mut MemCgroup>,
    generation: Atomic<i32>,
}

impl Mirrors<*mut bindings::mem_cgroup> for Atomic<*mut MemCgroup> {}

mirrors!(Position is bindings::mem_cgroup_reclaim_iter {
    memcg: position,
    generation: generation,
});

/// The position of a walk that the reclaimers of a memcg share.
///
/// # Invariants
///
/// - `position` is one of those of `root`.
/// - The memcg in it is null, `root`, or one below `root` that is freed only a grace period after
///   it was taken back: `invalidate_reclaim_iterators()` does so, in all ancestors and in what the
///   root memcg has by priority, when the last reference on it is gone.
pub(crate) struct ReclaimIter<'a> {
    root: &'a MemCgroup,
    position: &'a Position,
}

fn as_ptr(memcg: Option<&MemCgroup>) -> *mut MemCgroup {
    memcg.map_or(ptr::null_mut(), |memcg| memcg.as_raw().cast())
}

impl SharedPosition<MemCgroup> for ReclaimIter<'_> {
    fn generation(&self) -> &Atomic<i32> {
        &self.position.generation
    }

    #[inline]
    fn load<'g>(&'g self, _guard: &'g Guard) -> Option<&'g MemCgroup> {
        // SAFETY: By the type invariants, the memcg is the root, which `'g` does not outlive, or
        // valid until a grace period has passed, which can't end before `'g` does.
        unsafe { self.position.memcg.load(Relaxed).as_ref() }
    }

    #[inline]
    fn advance(&self, from: Option<&MemCgroup>, to: Option<&Step<MemCgroup>>) -> bool {
        if let Some(Step::Descendant(memcg)) = to {
            // The position of a walk elsewhere would not be taken back.
            if !memcg.is_descendant(self.root) {
                return false;
            }
        }
        let to = to.map(|step| step.get(self.root));

        // INVARIANT: `to` is null, `root`, or below it; and then the step has a reference on it.
        self.position
            .memcg
            .cmpxchg(as_ptr(from), as_ptr(to), Full)
            .is_ok()
    }
}
