// SPDX-License-Identifier: GPL-2.0

//! References that are counted in the object.

use core::{
    ops::Deref,
    ptr::NonNull, //
};

/// An object that counts its references.
///
/// # Safety
///
/// The object must stay valid as long as there is a reference.
pub unsafe trait AlwaysRefCounted {
    /// Counts another reference.
    fn inc_ref(&self);

    /// Gives a reference up.
    ///
    /// # Safety
    ///
    /// The caller must own the reference.
    unsafe fn dec_ref(obj: NonNull<Self>);
}

/// A reference.
pub struct ARef<T: AlwaysRefCounted>(NonNull<T>);

// SAFETY: It gives out `&T`, and may drop the last reference.
unsafe impl<T: AlwaysRefCounted + Send + Sync> Send for ARef<T> {}
// SAFETY: As above; a clone may be the last reference.
unsafe impl<T: AlwaysRefCounted + Send + Sync> Sync for ARef<T> {}

impl<T: AlwaysRefCounted> ARef<T> {
    /// Takes a reference over.
    ///
    /// # Safety
    ///
    /// The caller must own a reference, and gives it up.
    pub unsafe fn from_raw(ptr: NonNull<T>) -> Self {
        Self(ptr)
    }
}

impl<T: AlwaysRefCounted> From<&T> for ARef<T> {
    fn from(obj: &T) -> Self {
        obj.inc_ref();
        Self(NonNull::from(obj))
    }
}

impl<T: AlwaysRefCounted> Clone for ARef<T> {
    fn clone(&self) -> Self {
        self.inc_ref();
        Self(self.0)
    }
}

impl<T: AlwaysRefCounted> Deref for ARef<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: There is a reference.
        unsafe { self.0.as_ref() }
    }
}

impl<T: AlwaysRefCounted> Drop for ARef<T> {
    fn drop(&mut self) {
        // SAFETY: `self` owned a reference.
        unsafe { T::dec_ref(self.0) };
    }
}
