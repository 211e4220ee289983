// SPDX-License-Identifier: GPL-2.0

//! Pointers that are read under RCU to what C code owns.
//!
//! C header: [`include/linux/rcupdate.h`](srctree/include/linux/rcupdate.h)

use core::ptr::{
    self,
    NonNull, //
};

use crate::sync::{
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
pub struct RcuFreed<T>(NonNull<T>);

impl<T> RcuFreed<T> {
    /// Makes the promise for `object`.
    ///
    /// # Safety
    ///
    /// The caller must uphold the type invariants.
    pub unsafe fn new(object: NonNull<T>) -> Self {
        // INVARIANT: As the safety requirements say.
        Self(object)
    }
}

impl<T> From<&'static T> for RcuFreed<T> {
    /// Makes the promise for what is never freed.
    fn from(object: &'static T) -> Self {
        // INVARIANT: What is static stays valid for ever.
        Self(NonNull::from(object))
    }
}

/// A pointer to an object that C code owns, read under RCU.
///
/// Where Rust code owns the object, an [`RcuSlot`](super::RcuSlot) frees it, too.
///
/// # Invariants
///
/// The pointer is null, or comes from a [`RcuFreed`].
///
/// # Examples
///
/// ```
/// use kernel::sync::rcu::{self, RcuRef};
///
/// static SLOW: u32 = 10;
/// static SPEED: RcuRef<u32> = RcuRef::new();
///
/// SPEED.set(Some((&SLOW).into()));
/// assert_eq!(SPEED.get(&rcu::read_lock()), Some(&10));
///
/// SPEED.set(None);
/// assert_eq!(SPEED.get(&rcu::read_lock()), None);
/// ```
#[repr(transparent)]
pub struct RcuRef<T>(Atomic<*mut T>);

// SAFETY: It owns no `T`, and all that it gives out, on whatever CPU, is `&T`.
unsafe impl<T: Sync> Send for RcuRef<T> {}
// SAFETY: The pointer is atomic, and shared users only get `&T` from it.
unsafe impl<T: Sync> Sync for RcuRef<T> {}

impl<T> RcuRef<T> {
    /// Creates a pointer to nothing.
    pub const fn new() -> Self {
        // INVARIANT: The pointer is null.
        Self(Atomic::new(ptr::null_mut()))
    }

    /// Creates a pointer to what `other` points to.
    ///
    /// # Safety
    ///
    /// From the time at which `other` is made to forget the object, no reader may find the copy,
    /// unless it is made to forget it before.
    pub unsafe fn copy_of(other: &Self) -> Self {
        // INVARIANT: Null or from a `RcuFreed`, as in `other`.
        Self(Atomic::new(other.0.load(Relaxed)))
    }

    /// Reads the pointer.
    #[inline]
    pub fn get<'g>(&self, _guard: &'g Guard) -> Option<&'g T> {
        // ORDERING: Like `rcu_dereference()`, see `RcuSlot::read`.
        //
        // SAFETY: By the type invariants the pointer is null or the object is valid until a grace
        // period has passed after it was forgotten, which can't end before `'g` does.
        unsafe { self.0.load(Relaxed).as_ref() }
    }

    /// Publishes `object`, or forgets what was published.
    pub fn set(&self, object: Option<RcuFreed<T>>) {
        // ORDERING: Release, so that readers see the object initialized; pairs with the dependency
        // in `get`.
        //
        // INVARIANT: The pointer is null or comes from a `RcuFreed`.
        self.0.store(
            object.map_or(ptr::null_mut(), |object| object.0.as_ptr()),
            Release,
        );
    }
}

impl<T> Default for RcuRef<T> {
    fn default() -> Self {
        Self::new()
    }
}
