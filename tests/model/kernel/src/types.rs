// SPDX-License-Identifier: GPL-2.0

//! Types.

use core::{
    cell::UnsafeCell,
    mem::MaybeUninit, //
};

/// What C code keeps somewhere.
#[repr(transparent)]
pub struct Opaque<T>(UnsafeCell<MaybeUninit<T>>);

impl<T> Opaque<T> {
    /// Creates one that C code has yet to fill.
    pub const fn uninit() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// Returns a pointer to what C code keeps there.
    pub const fn cast_into(this: *const Self) -> *mut T {
        this.cast::<T>().cast_mut()
    }
}
