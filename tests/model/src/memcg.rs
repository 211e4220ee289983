// SPDX-License-Identifier: GPL-2.0

//! Memory cgroups, in place of `rust/mm_reclaim/memcg.rs`: the same interface, without C behind it.

use core::{
    cell::Cell,
    marker::PhantomData,
    ops::Deref,
    ptr::{
        self,
        NonNull, //
    }, //
};
use kernel::{
    alloc::Flags,
    model::Lock,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Full,
            Relaxed,
            Release, //
        },
        rcu::{
            self,
            Guard, //
        },
        Refcount, //
    }, //
};
use std::{
    rc::Rc,
    sync::atomic::{
        AtomicIsize,
        Ordering, //
    }, //
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
        path,
        Group,
        HasParent,
        Order,
        SharedPosition,
        Step,
        Verdict, //
    },
    lifecycle,
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
    reclaimable::{
        self,
        HasLru, //
    },
    shrinker,
    shrinker_id::ShrinkerId,
    soft_limit::{
        self,
        walk::{
            ExcessOrder,
            Tops, //
        },
        HasSoftLimit,
        SoftLimitState, //
    },
    sys::Node, //
};

/// As many as there may be nodes.
const NODES: usize = 3;
/// Ids that memcgs may have.
const IDS: usize = 256;

/// What all memcgs of a [`World`] share.
struct Shared {
    bitmaps: [MemcgBitmap; NODES],
    lru_bitmap: MemcgBitmap,
    in_excess: MemcgBitmap,
    by_id: [Atomic<*mut MemCgroup>; IDS],
}

/// A memcg. Lives as long as its [`World`].
pub(crate) struct MemCgroup {
    /// Its place in the world, which the root begins.
    pub(crate) at: usize,
    shared: Rc<Shared>,
    parent: Option<Rc<MemCgroup>>,
    /// The one whose parent it is, which the world keeps.
    child: Cell<*const MemCgroup>,
    map: Map,
    /// What its map is said to take. Nothing is decided by it, so that its order is of no interest.
    map_bytes: AtomicIsize,
    node_summary: [NodeSummary; NODES],
    id: Atomic<i32>,
    is_online: Atomic<u32>,
    lru_lock: Lock,
    /// On the lists of the first node; changes under the lock.
    nr_pages: Atomic<usize>,
    /// Whether its pages, and those that come, are its parent's. Changes under the lock.
    is_reparented: Atomic<u32>,
    refcount: Refcount,
    excess: SoftLimitState,
    usage: Atomic<usize>,
    limit: Atomic<usize>,
    stats_state: Atomic<u32>,
    nr_below: [Atomic<i32>; State::NR],
    /// The place of the memcg whose statistics it writes.
    target: Atomic<usize>,
    /// What was written to its own, and not flushed; [`FREED`] if they are freed.
    own: Atomic<usize>,
    /// What came from those below it, and was not flushed; [`FREED`] if the sums are freed.
    flushed: Atomic<usize>,
}

/// More than is ever written.
const FREED: usize = 1 << 20;

/// The map of a memcg, as seen from one node.
pub(crate) type MemCgroupMap<'a> = MapOnNode<'a, MemCgroup>;

thread_local! {
    static ROOT: Cell<*const MemCgroup> = const { Cell::new(ptr::null()) };
}

/// A root, and memcgs below. When it is dropped, all memcgs are freed as C does it.
pub(crate) struct World {
    pub(crate) memcgs: Vec<Rc<MemCgroup>>,
}

impl World {
    /// Creates a memcg with each of the ids, besides the root. The parent of each is the one before
    /// it. Zero is a memcg without an id.
    pub(crate) fn new(ids: &[i32]) -> Self {
        shrinker::begin();
        let shared = Rc::new(Shared {
            bitmaps: [const { MemcgBitmap::new() }; NODES],
            lru_bitmap: MemcgBitmap::new(),
            in_excess: MemcgBitmap::new(),
            by_id: [const { Atomic::new(ptr::null_mut()) }; IDS],
        });
        let mut memcgs = Vec::<Rc<MemCgroup>>::new();

        for (at, &id) in [0].iter().chain(ids).enumerate() {
            let memcg = Rc::new(MemCgroup {
                at,
                shared: shared.clone(),
                parent: memcgs.last().cloned(),
                child: Cell::new(ptr::null()),
                map: Map::new(),
                map_bytes: AtomicIsize::new(0),
                node_summary: [const { NodeSummary::new() }; NODES],
                id: Atomic::new(0),
                is_online: Atomic::new(1),
                lru_lock: Lock::new(),
                nr_pages: Atomic::new(0),
                is_reparented: Atomic::new(0),
                refcount: Refcount::new(1),
                excess: SoftLimitState::new(),
                usage: Atomic::new(0),
                // The root has none.
                limit: Atomic::new(if at == 0 { usize::MAX } else { 10 }),
                stats_state: Atomic::new(State::Active as u32),
                nr_below: [const { Atomic::new(0) }; State::NR],
                target: Atomic::new(at),
                own: Atomic::new(0),
                flushed: Atomic::new(0),
            });
            memcg.take_id(id);
            if let Some(parent) = memcgs.last() {
                parent.child.set(Rc::as_ptr(&memcg));
            }
            memcgs.push(memcg);
        }
        ROOT.set(Rc::as_ptr(&memcgs[0]));
        Self { memcgs }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            for memcg in self.memcgs.iter().rev() {
                lifecycle::offline(memcg);
                assert_eq!(memcg.map_bytes(), 0, "of a map that is closed");
            }
            shrinker::end();
        }
    }
}

impl MemCgroup {
    /// Gets an id, as `mem_cgroup_css_online()` does.
    pub(crate) fn take_id(&self, id: i32) {
        if id != 0 {
            self.id.store(id, Relaxed);
            self.shared.by_id[id as usize].store(ptr::from_ref(self).cast_mut(), Release);
        }
    }

    /// Goes offline, as in `mem_cgroup_css_offline()`: the id goes back after the map was closed.
    pub(crate) fn go_offline(&self) {
        soft_limit::close(self);
        self.reparent_pages();
        lifecycle::offline(self);
        self.id.store(0, Relaxed);
        self.is_online.store(0, Relaxed);
    }

    /// Puts a page on a list, of the memcg or of whom its pages went to, as `folio_lruvec_lock()`
    /// finds it and `mem_cgroup_update_lru_size()` counts it.
    pub(crate) fn add_page(&self, node: Node) {
        let is_added = self.lru_lock.hold(|| {
            let is_mine = self.is_reparented.load(Relaxed) == 0;

            if is_mine {
                self.add_pages(1, node);
            }
            is_mine
        });

        if !is_added {
            self.parent().expect("the root stays").add_page(node);
        }
    }

    /// Takes a page from its list.
    pub(crate) fn remove_page(&self) {
        self.lru_lock
            .hold(|| self.nr_pages.store(self.nr_pages() - 1, Relaxed));
    }

    /// Returns how many pages are on its lists.
    pub(crate) fn nr_pages(&self) -> usize {
        self.nr_pages.load(Relaxed)
    }

    /// The lock is held.
    fn add_pages(&self, nr: usize, node: Node) {
        let before = self.nr_pages();

        if before == 0 {
            reclaimable::list(self, node);
        }
        self.nr_pages.store(before + nr, Relaxed);
    }

    /// Does what `memcg_reparent_objcgs()` does with pages.
    fn reparent_pages(&self) {
        let (parent, node) = (
            self.parent().expect("the root stays"),
            Node::possible().next(),
        );

        self.lru_lock.hold(|| {
            parent.lru_lock.hold(|| {
                if self.nr_pages() > 0 {
                    parent.add_pages(self.nr_pages(), node.expect("there is a node"));
                    self.nr_pages.store(0, Relaxed);
                }
                self.is_reparented.store(1, Relaxed);
            })
        });
    }

    /// Those that are in a world from the start never come online.
    pub(crate) fn reserve_id(&self, _flags: Flags) -> Result {
        unreachable!("no memcg comes online here")
    }

    /// Lets look-ups of its id find nothing any more.
    pub(crate) fn forget_id(&self) {
        let id = self.id.load(Relaxed);

        if id != 0 {
            self.shared.by_id[id as usize].store(ptr::null_mut(), Release);
        }
    }

    /// Calls `f` as if what it allocates were charged to this memcg. There are no limits here.
    pub(crate) fn charged<R>(&self, flags: Flags, f: impl FnOnce(Flags) -> R) -> R {
        f(flags)
    }

    /// Adds to what its map is said to take.
    pub(crate) fn note_growth(&self, _id: Option<ShrinkerId>, growth: Growth) {
        self.map_bytes.fetch_add(growth.bytes, Ordering::Relaxed);
    }

    /// Takes away what its map had.
    pub(crate) fn note_close(&self, bytes: usize) {
        self.map_bytes.fetch_sub(bytes as isize, Ordering::Relaxed);
    }

    /// Does nothing.
    pub(crate) fn note_walk(&self, _node: Node, _visited: usize, _spurious: usize, _freed: usize) {}

    /// Returns what its map is said to take.
    pub(crate) fn map_bytes(&self) -> isize {
        self.map_bytes.load(Ordering::Relaxed)
    }

    /// Charges pages to the memcg and its ancestors, or uncharges them, as page counters do.
    pub(crate) fn charge(&self, nr: isize) {
        for memcg in path(self) {
            memcg.usage.fetch_add(nr as usize, Full);
        }
        soft_limit::update(self);
    }

    /// Returns the list of memcgs that are not idle on the first node.
    pub(crate) fn list(&self) -> &MemcgBitmap {
        &self.shared.bitmaps[0]
    }

    /// Returns the root memcg.
    pub(crate) fn root() -> Option<&'static Self> {
        // SAFETY: The root lives as long as its world, of which there is one at a time.
        unsafe { ROOT.get().as_ref() }
    }

    /// Returns whether this is the root memcg.
    pub(crate) fn is_root(&self) -> bool {
        ptr::eq(ROOT.get(), self)
    }

    /// Returns whether the memcg has not gone offline.
    pub(crate) fn is_online(&self) -> bool {
        self.is_online.load(Relaxed) != 0
    }

    /// Returns the memcg, of this one and those above it, that is at this place.
    fn above(&self, at: usize) -> &Self {
        if at == self.at {
            return self;
        }
        self.parent()
            .expect("there is none at this place")
            .above(at)
    }

    /// Counts an event, as `count_memcg_events()` does.
    pub(crate) fn count_event(&self) {
        let _guard = rcu::read_lock();
        let target = self.above(self.target.load(Relaxed));
        let before = target.own.fetch_add(1, Relaxed);

        assert!(before < FREED, "statistics are written that are freed");
    }

    /// Adds what is in its own statistics, and came from below, to what the next one above gets,
    /// after those below it, as `css_rstat_flush()` does; that has a lock.
    pub(crate) fn flush_stats(&self) {
        // SAFETY: The world keeps the child.
        if let Some(child) = unsafe { self.child.get().as_ref() } {
            child.flush_stats();
        }
        let _guard = rcu::read_lock();

        if let Some(to) = self.next_flushed() {
            let own = if self.has_own_stats() {
                self.own.xchg(0, Relaxed)
            } else {
                0
            };

            assert!(own < FREED, "statistics are read that are freed");
            to.receive(own + self.take_flushed());
        }
    }

    fn has_own_stats(&self) -> bool {
        self.stats_state.load(Relaxed) < State::Flushed as u32
    }

    /// Returns the next memcg above that flushes add to.
    fn next_flushed(&self) -> Option<&Self> {
        let parent = self.parent()?;

        if parent.has_own_stats() {
            Some(parent)
        } else {
            parent.next_flushed()
        }
    }

    fn receive(&self, nr: usize) {
        if nr > 0 {
            let before = self.flushed.fetch_add(nr, Relaxed);

            assert!(before < FREED, "sums are written that are freed");
        }
    }

    /// Takes what came from below. There is nothing in the zeros that take the place of sums.
    fn take_flushed(&self) -> usize {
        match self.flushed.load(Relaxed) {
            0 | FREED => 0,
            nr => self.flushed.cmpxchg(nr, 0, Relaxed).unwrap_or(0),
        }
    }

    /// Returns how many events were counted, by what there is at it and from below.
    pub(crate) fn nr_events(&self) -> usize {
        let there = |nr: &Atomic<usize>| match nr.load(Relaxed) {
            FREED => 0,
            nr => nr,
        };

        there(&self.own) + there(&self.flushed)
    }

    /// There is no oracle.
    pub(crate) fn warn_unlisted(&self, _node: Node) {}

    /// There is no oracle.
    pub(crate) fn warn_lru_unlisted(&self, _node: Node) {}
}

impl HasParent for MemCgroup {
    fn parent(&self) -> Option<&Self> {
        self.parent.as_deref()
    }
}

impl HasMemcgId for MemCgroup {
    fn listed_id(&self) -> Option<MemcgId> {
        if self.is_root() {
            return None;
        }
        MemcgId::from_raw(self.id.load(Relaxed))
    }

    fn with_id<'g>(&'g self, id: MemcgId, _guard: &'g Guard) -> Option<&'g Self> {
        let memcg = self
            .shared
            .by_id
            .get(usize::from(id.as_raw()))?
            .load(Relaxed);

        // SAFETY: Memcgs live as long as their world.
        unsafe { memcg.as_ref() }
    }
}

impl HasMap for MemCgroup {
    fn map(&self) -> &Map {
        &self.map
    }

    fn node_summary(&self, node: Node) -> &NodeSummary {
        &self.node_summary[node.as_raw() as usize]
    }

    fn bitmap(&self, node: Node) -> &MemcgBitmap {
        &self.shared.bitmaps[node.as_raw() as usize]
    }
}

impl HasLru for MemCgroup {
    fn lru_bitmap(&self, _node: Node) -> &MemcgBitmap {
        &self.shared.lru_bitmap
    }

    fn lru_is_empty(&self, _node: Node) -> bool {
        self.nr_pages() == 0
    }

    fn with_lru_locked(&self, _node: Node, f: impl FnOnce()) {
        self.lru_lock.hold(f);
    }

    fn last_id(&self) -> u32 {
        unreachable!("there is no global reclaim here")
    }
}

impl HasSoftLimit for MemCgroup {
    fn excess(&self) -> &SoftLimitState {
        &self.excess
    }

    fn exceeds(&self) -> bool {
        let limit = self.limit.load(Relaxed);

        self.usage.load(Relaxed) > limit
    }

    fn excess_bitmap(&self) -> &MemcgBitmap {
        &self.shared.in_excess
    }

    fn excess_top(&self, _node: Node) -> &Atomic<u32> {
        unreachable!("walks are not shared here")
    }
}

impl HasStats for MemCgroup {
    type Removed = MemCgroupRef;

    fn stats_state(&self) -> u32 {
        self.stats_state.load(Relaxed)
    }

    fn set_stats_state(&self, state: State, _: &Drainer) {
        self.stats_state.store(state as u32, Relaxed);
    }

    fn nr_below(&self) -> &[Atomic<i32>; State::NR] {
        &self.nr_below
    }

    fn redirect_stats(&self, to: &Target<'_, Self>) {
        self.target.store(to.get().at, Relaxed);
    }

    fn note_own_stats(_: Quiet<'_, Self>) {}

    fn flush_stats(&self) {
        self.flush_stats();
    }

    fn free_own_stats(memcg: Unused<'_, Self>) {
        for nr in [&memcg.get().own, &memcg.get().flushed] {
            let nr = nr.xchg(FREED, Relaxed);

            assert_eq!(nr, 0, "statistics are freed that nobody flushed");
        }
    }
}

/// A reference that keeps a memcg.
///
/// # Invariants
///
/// Owns a reference on a memcg that lives as long as its world.
pub(crate) struct MemCgroupRef(NonNull<MemCgroup>);

impl Deref for MemCgroupRef {
    type Target = MemCgroup;

    fn deref(&self) -> &MemCgroup {
        // SAFETY: By the type invariants.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for MemCgroupRef {
    fn drop(&mut self) {
        let is_last = self.refcount.dec_and_test();

        assert!(!is_last, "the world has a reference");
    }
}

impl Group for MemCgroup {
    type Ref = MemCgroupRef;

    fn next<'g>(
        pos: Option<&'g Self>,
        verdict: Verdict,
        root: &'g Self,
        _guard: &'g Guard,
    ) -> Option<&'g Self> {
        match pos {
            None => Some(root),
            Some(_) if verdict == Verdict::SkipTree => None,
            // SAFETY: Memcgs live as long as their world.
            Some(pos) => unsafe { pos.child.get().as_ref() },
        }
    }

    fn try_get(&self) -> Option<MemCgroupRef> {
        self.refcount.inc();
        // INVARIANT: That got a reference.
        Some(MemCgroupRef(NonNull::from(self)))
    }

    fn serial(&self) -> u64 {
        self.at as u64
    }
}

/// Goes through those in excess, and those below them, as a first pass of reclaim does.
pub(crate) fn walk_excess(root: &MemCgroup, mut visit: impl FnMut(&MemCgroup)) {
    let guard = rcu::read_lock();
    let top = Atomic::new(0);
    let order = ExcessOrder::new(Tops::Alone(&top));
    let (mut pos, mut verdict) = (None, Verdict::Visit);

    while let Some(memcg) = order.next(pos, verdict, root, &guard) {
        if Order::<MemCgroup>::passes_over(&order) {
            verdict = Verdict::SkipTree;
        } else {
            verdict = Verdict::Visit;
            visit(memcg);
        }
        pos = Some(memcg);
    }
}

/// The position of shared walks, of which there are none here.
pub(crate) struct ReclaimIter<'a>(PhantomData<&'a MemCgroup>);

impl SharedPosition<MemCgroup> for ReclaimIter<'_> {
    fn generation(&self) -> &Atomic<i32> {
        unreachable!("walks are not shared here")
    }

    fn load<'g>(&'g self, _guard: &'g Guard) -> Option<&'g MemCgroup> {
        None
    }

    fn advance(&self, _from: Option<&MemCgroup>, _to: Option<&Step<MemCgroup>>) -> bool {
        false
    }
}

/// Kernel memory is accounted to memcgs.
pub(crate) fn is_kmem_disabled() -> bool {
    false
}
