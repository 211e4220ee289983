// SPDX-License-Identifier: GPL-2.0

//! Synchronisation.

use core::sync::atomic::{
    AtomicUsize,
    Ordering, //
};

pub mod aref;
pub mod atomic;
pub mod barrier;
pub mod rcu;

/// A reference count, always exact: the model does not switch threads at it, nor has it order
/// anything.
#[repr(transparent)]
pub struct Refcount(AtomicUsize);

impl Refcount {
    /// Creates a count.
    pub const fn new(value: i32) -> Self {
        Self(AtomicUsize::new(value as usize))
    }

    /// Sets the count.
    pub fn set(&self, value: i32) {
        self.0.store(value as usize, Ordering::Relaxed);
    }

    /// Counts another reference.
    pub fn inc(&self) {
        let old = self.0.fetch_add(1, Ordering::Relaxed);

        assert_ne!(old, 0, "a reference on what is gone");
    }

    /// Counts a reference less, and returns whether that was the last.
    pub fn dec_and_test(&self) -> bool {
        let old = self.0.fetch_sub(1, Ordering::Relaxed);

        assert_ne!(old, 0, "a reference too many is given up");
        old == 1
    }
}
