// SPDX-License-Identifier: GPL-2.0

//! C's shrinkers as Rust types.
//!
//! Owns the table of those that are aware of memcgs, by id, and how one is called.
//!
//! C header: [`include/linux/shrinker.h`](srctree/include/linux/shrinker.h)

use core::{
    ops::Deref,
    ptr::NonNull, //
};
use kernel::{
    bindings,
    prelude::*,
    types::Opaque, //
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

/// Wraps `struct shrinker`.
#[repr(transparent)]
pub(crate) struct Shrinker(Opaque<bindings::shrinker>);

// SAFETY: C code calls shrinkers on any CPU; they do their own locking.
unsafe impl Send for Shrinker {}
// SAFETY: What is called by way of `&Shrinker` is C code that may run on several CPUs at a time.
unsafe impl Sync for Shrinker {}

/// The memcg-aware shrinkers by id.
pub(crate) static SHRINKERS: IdTable<Shrinker> = IdTable::new(ShrinkerId::LIMIT);

/// The right to give ids to shrinkers and to take them back: evidence that `shrinker_mutex` is
/// held.
pub(crate) type ShrinkerIds<'a> = Writer<'a, Shrinker>;

impl Shrinker {
    /// Creates a reference to a shrinker.
    ///
    /// # Safety
    ///
    /// `shrinker` must be valid for `'a`.
    pub(crate) unsafe fn from_raw<'a>(shrinker: *mut bindings::shrinker) -> &'a Self {
        // SAFETY: As the safety requirements say; the type is transparent.
        unsafe { &*shrinker.cast() }
    }

    /// Returns the id, if the shrinker has one. It does not change while the shrinker can be
    /// found.
    pub(crate) fn id(&self) -> Option<ShrinkerId> {
        // SAFETY: The shrinker is valid as long as `self`.
        ShrinkerId::from_raw(unsafe { (&raw const (*self.0.get()).id).read_volatile() })
    }

    fn has_flag(&self, flag: c_uint) -> bool {
        // SAFETY: The shrinker is valid as long as `self`. Other flags may change meanwhile.
        let flags = unsafe { (&raw const (*self.0.get()).flags).read_volatile() };

        flags & flag != 0
    }

    /// Returns whether the shrinker tells memcgs apart.
    pub(crate) fn is_memcg_aware(&self) -> bool {
        self.has_flag(bindings::SHRINKER_MEMCG_AWARE)
    }

    /// Returns the node that keeps the work which the shrinker left over on `node`: if it does not
    /// tell nodes apart, always [`Node::home`].
    pub(crate) fn deferred_node(&self, node: Node) -> Node {
        if self.has_flag(bindings::SHRINKER_NUMA_AWARE) {
            node
        } else {
            Node::home()
        }
    }

    /// Gets a reference, unless the shrinker is not registered: not yet, or not any more.
    pub(crate) fn try_get(&self) -> Option<ShrinkerRef> {
        // SAFETY: The shrinker is valid as long as `self`.
        if !unsafe { bindings::shrinker_try_get(self.0.get()) } {
            return None;
        }
        // INVARIANT: `shrinker_try_get()` got the reference.
        Some(ShrinkerRef(NonNull::from(self)))
    }
}

/// A reference that keeps a shrinker registered.
///
/// # Invariants
///
/// Owns a reference that `shrinker_try_get()` got.
pub(crate) struct ShrinkerRef(NonNull<Shrinker>);

impl ShrinkerRef {
    /// What `count_objects` returns if there are no objects.
    const EMPTY: usize = bindings::SHRINK_EMPTY as usize;

    /// Calls the shrinker as `do_shrink_slab()` does, and returns the number of objects freed; none
    /// if there were none. What was left over is in `deferred`, before and after it. May sleep.
    pub(crate) fn shrink(&self, target: &Target<'_>, deferred: &mut isize) -> Option<usize> {
        let mut control = target.control();

        control.nr_deferred = deferred;
        // SAFETY: The reference keeps the shrinker registered, and `control` names a memcg and a
        // node that exist as long as `target`, and a number that nobody else uses meanwhile.
        match unsafe {
            bindings::do_shrink_slab_memcg(&mut control, self.as_raw(), target.priority)
        } {
            Self::EMPTY => None,
            freed => Some(freed),
        }
    }

    /// Asks the shrinker for the number of its objects; zero if there are none, or if it can't
    /// tell.
    pub(crate) fn count(&self, target: &Target<'_>) -> usize {
        let mut control = target.control();
        let raw = self.as_raw();

        // SAFETY: The reference keeps the shrinker registered, and its fields don't change then.
        let Some(count_objects) = (unsafe { (*raw).count_objects }) else {
            return 0;
        };
        // SAFETY: As in `shrink`.
        match unsafe { count_objects(raw, &mut control) } {
            Self::EMPTY => 0,
            count => count,
        }
    }

    /// Warns that the shrinker has objects though its bit is clear. Without the oracle, there is no
    /// such warning.
    pub(crate) fn warn_not_empty(&self, target: &Target<'_>, count: usize) {
        if cfg!(CONFIG_MEMCG_SHRINKER_RUST_VERIFY) {
            let (memcg, nid) = (target.memcg.as_raw(), target.node.as_raw());

            // SAFETY: The memcg and the shrinker are valid as long as `target` and `self`.
            unsafe { bindings::shrinker_warn_not_empty(memcg, nid, self.as_raw(), count) };
        }
    }

    /// Returns the C object.
    pub(crate) fn as_raw(&self) -> *mut bindings::shrinker {
        self.0.as_ptr().cast()
    }
}

impl Deref for ShrinkerRef {
    type Target = Shrinker;

    fn deref(&self) -> &Shrinker {
        // SAFETY: The reference keeps the shrinker valid.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for ShrinkerRef {
    fn drop(&mut self) {
        // SAFETY: By the type invariants, there is a reference to give up.
        unsafe { bindings::shrinker_put(self.as_raw()) };
    }
}

/// What to shrink.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    /// The memcg to which the objects belong.
    pub(crate) memcg: &'a MemCgroup,
    /// The node on which they are.
    pub(crate) node: Node,
    /// The context of the allocation that needs memory.
    pub(crate) gfp_mask: bindings::gfp_t,
    /// How hard to try: one object in `1 << priority` is looked at.
    pub(crate) priority: i32,
}

impl Target<'_> {
    fn control(&self) -> bindings::shrink_control {
        bindings::shrink_control {
            gfp_mask: self.gfp_mask,
            nid: self.node.as_raw(),
            memcg: self.memcg.as_raw(),
            ..Default::default()
        }
    }
}
