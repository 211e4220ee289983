// SPDX-License-Identifier: GPL-2.0

//! Shrinkers, in place of `rust/mm_reclaim/shrinker.rs`: the same interface, without C behind it.

use core::{
    cell::{
        Cell,
        RefCell, //
    },
    ops::Deref,
    ptr::{
        self,
        NonNull, //
    }, //
};
use kernel::{
    bindings,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        rcu::RcuFreed, //
    }, //
};

use crate::{
    id_table::{
        IdTable,
        Writer, //
    },
    memcg::MemCgroup,
    shrinker_id::ShrinkerId,
    sys::Node, //
};

/// As many memcgs as tests have.
const MEMCGS: usize = 4;

/// A shrinker with objects, which it counts and doesn't free.
pub(crate) struct Shrinker {
    nr_objects: [Atomic<usize>; MEMCGS],
    /// Set before it gets an id.
    is_initialized: Atomic<u32>,
    /// Set when it can be referenced.
    is_registered: Atomic<u32>,
}

/// The ids of an execution.
pub(crate) struct Ids;

/// The memcg-aware shrinkers by id.
pub(crate) static SHRINKERS: Ids = Ids;

/// The right to give ids to shrinkers and to take them back.
pub(crate) type ShrinkerIds<'a> = Writer<'a, Shrinker>;

thread_local! {
    static TABLE: Cell<*mut IdTable<Shrinker>> = const { Cell::new(ptr::null_mut()) };
    static ALL: RefCell<Vec<*mut Shrinker>> = const { RefCell::new(Vec::new()) };
}

impl Deref for Ids {
    type Target = IdTable<Shrinker>;

    fn deref(&self) -> &IdTable<Shrinker> {
        // SAFETY: It is there from `begin` to `end`.
        unsafe { TABLE.get().as_ref() }.expect("a world")
    }
}

/// Creates the table.
pub(super) fn begin() {
    TABLE.set(Box::into_raw(Box::new(IdTable::new(ShrinkerId::LIMIT))));
}

/// Frees the table.
pub(super) fn end() {
    // SAFETY: It comes from `begin`.
    drop(unsafe { Box::from_raw(TABLE.replace(ptr::null_mut())) });
    for shrinker in ALL.take() {
        // SAFETY: It comes from `Shrinker::new`.
        drop(unsafe { Box::from_raw(shrinker) });
    }
}

impl Shrinker {
    /// Creates a shrinker. It lives till [`end`]: that its memory outlives the id is up to C.
    pub(crate) fn new() -> &'static Self {
        let shrinker = Box::into_raw(Box::new(Self {
            nr_objects: [const { Atomic::new(0) }; MEMCGS],
            is_initialized: Atomic::new(0),
            is_registered: Atomic::new(0),
        }));

        ALL.with_borrow_mut(|all| all.push(shrinker));
        // SAFETY: It is freed when no test uses it any more.
        unsafe { &*shrinker }
    }

    /// Returns what gets an id, as `shrinker_alloc()` does.
    pub(crate) fn initialize(&'static self) -> RcuFreed<Self> {
        self.is_initialized.store(1, Relaxed);
        // SAFETY: It lives till `end`.
        unsafe { RcuFreed::new(NonNull::from(self)) }
    }

    /// Lets others reference the shrinker, as `shrinker_register()` does.
    pub(crate) fn register(&self) {
        self.is_registered.store(1, Relaxed);
    }

    /// Returns whether what was written before the shrinker got its id is visible.
    pub(crate) fn is_initialized(&self) -> bool {
        self.is_initialized.load(Relaxed) != 0
    }

    /// Adds an object, without setting the bit.
    pub(crate) fn add_object(&self, memcg: &MemCgroup) {
        self.nr_objects[memcg.at].add(1, Relaxed);
    }

    /// Removes an object.
    pub(crate) fn remove_object(&self, memcg: &MemCgroup) {
        self.nr_objects[memcg.at].add(usize::MAX, Relaxed);
    }

    /// Counts the objects.
    pub(crate) fn count(&self, memcg: &MemCgroup) -> usize {
        self.nr_objects[memcg.at].load(Relaxed)
    }

    /// Gets a reference, unless the shrinker is not registered.
    pub(crate) fn try_get(&self) -> Option<ShrinkerRef> {
        (self.is_registered.load(Relaxed) != 0).then(|| ShrinkerRef(NonNull::from(self)))
    }
}

/// A reference that keeps a shrinker registered.
pub(crate) struct ShrinkerRef(NonNull<Shrinker>);

impl ShrinkerRef {
    fn get(&self) -> &Shrinker {
        // SAFETY: It lives till `end`.
        unsafe { self.0.as_ref() }
    }

    /// Returns the node that keeps the work which it left over: it tells nodes apart.
    pub(crate) fn deferred_node(&self, node: Node) -> Node {
        node
    }

    /// Calls the shrinker. What it has can't be freed now, and nothing more is left over.
    pub(crate) fn shrink(&self, target: &Target<'_>, _deferred: &mut isize) -> Option<usize> {
        (self.get().count(target.memcg) != 0).then_some(0)
    }

    /// Asks the shrinker for the number of its objects.
    pub(crate) fn count(&self, target: &Target<'_>) -> usize {
        self.get().count(target.memcg)
    }

    /// There is no oracle.
    pub(crate) fn warn_not_empty(&self, _target: &Target<'_>, _count: usize) {}
}

/// What to shrink.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) memcg: &'a MemCgroup,
    pub(crate) node: Node,
    pub(crate) gfp_mask: bindings::gfp_t,
    pub(crate) priority: i32,
}
