// SPDX-License-Identifier: GPL-2.0

//! `READ_ONCE()` of atomics.

use kernel::sync::atomic::{
    Atomic,
    AtomicType, //
};

/// Reads an atomic; orders nothing but what depends on the value.
///
/// The same as a relaxed load, which however is a call of a C function unless the kernel is built
/// with `CONFIG_RUST_INLINE_HELPERS`. A walk reads a dozen words of each memcg.
#[inline(always)]
pub(crate) fn read<T: AtomicType>(atomic: &Atomic<T>) -> T {
    // SAFETY: The pointer is valid and aligned, as it comes from a reference. Everybody else
    // accesses the value atomically, and so does a volatile read of at most a word, as the memory
    // model of the kernel has it for `READ_ONCE()`.
    unsafe { atomic.as_ptr().read_volatile() }
}
