// SPDX-License-Identifier: GPL-2.0

//! Pointers that are read under RCU, to objects of C.
//!
//! The kernel crate has [`RcuSlot`](kernel::sync::rcu::RcuSlot) for what Rust owns. [`RcuRef`]
//! points to what C code frees after a grace period. [`Writer`] is the right to change what others
//! read meanwhile, where that takes one writer at a time.
//!
//! C header: [`include/linux/rcupdate.h`](srctree/include/linux/rcupdate.h)

use core::{
    ops::Deref,
    ptr::{
        self,
        NonNull, //
    }, //
};
use kernel::sync::{
    atomic::{
        Atomic,
        Relaxed,
        Release, //
    },
    rcu::Guard, //
};

/// A promise about an object that C code owns.
///
/// # Invariants
///
/// The object stays valid until a grace period has passed after the last [`RcuRef`] by which
/// readers can find it was made to forget it.
pub(crate) struct RcuFreed<T>(NonNull<T>);

impl<T> RcuFreed<T> {
    /// Makes the promise for `object`.
    ///
    /// # Safety
    ///
    /// The caller must uphold the type invariants.
    pub(crate) unsafe fn new(object: NonNull<T>) -> Self {
        // INVARIANT: As the safety requirements say.
        Self(object)
    }
}

/// A pointer to an object that C code owns, read under RCU.
///
/// # Invariants
///
/// The pointer is null, or comes from a [`RcuFreed`].
#[repr(transparent)]
pub(crate) struct RcuRef<T>(Atomic<*mut T>);

// SAFETY: Gives out `&T` on any CPU, and never owns it.
unsafe impl<T: Sync> Send for RcuRef<T> {}
// SAFETY: As above.
unsafe impl<T: Sync> Sync for RcuRef<T> {}

impl<T> RcuRef<T> {
    /// Creates a pointer to nothing.
    pub(crate) const fn new() -> Self {
        // INVARIANT: The pointer is null.
        Self(Atomic::new(ptr::null_mut()))
    }

    /// Creates a pointer to what `other` points to.
    pub(crate) fn copy_of(other: &Self) -> Self {
        // INVARIANT: Null or from a `RcuFreed`, as in `other`.
        Self(Atomic::new(other.0.load(Relaxed)))
    }

    /// Reads the pointer.
    #[inline]
    pub(crate) fn get<'g>(&self, _guard: &'g Guard) -> Option<&'g T> {
        // ORDERING: Like `rcu_dereference()`, see `RcuSlot::read`.
        //
        // SAFETY: By the type invariants the pointer is null or the object is valid until a grace
        // period has passed after it was forgotten, which can't end before `'g` does.
        unsafe { self.0.load(Relaxed).as_ref() }
    }

    /// Publishes `object`, or forgets what was published.
    pub(crate) fn set(&self, object: Option<RcuFreed<T>>) {
        // ORDERING: Release, so that readers see the object initialized; pairs with the dependency
        // in `get`.
        //
        // INVARIANT: The pointer is null or comes from a `RcuFreed`.
        self.0.store(
            object.map_or(ptr::null_mut(), |lent| lent.0.as_ptr()),
            Release,
        );
    }
}

/// The right to change a `T` that others read meanwhile.
///
/// # Invariants
///
/// There is no other writer for the same `T` as long as this one is in use.
pub(crate) struct Writer<'a, T>(&'a T);

impl<'a, T> Writer<'a, T> {
    /// Creates the writer of `object`, for whoever holds the lock that writers of `object` take.
    ///
    /// # Safety
    ///
    /// No other writer of `object` may be used before this one is used for the last time.
    pub(crate) unsafe fn new(object: &'a T) -> Self {
        // INVARIANT: As the safety requirements say.
        Self(object)
    }

    /// Creates the writer of `object` where nobody else has it at all.
    #[cfg(CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST)]
    pub(crate) fn exclusive(object: &'a mut T) -> Self {
        // INVARIANT: Another writer would borrow `object`, too.
        Self(object)
    }
}

impl<T> Deref for Writer<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0
    }
}
