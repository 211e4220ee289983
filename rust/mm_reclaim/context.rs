// SPDX-License-Identifier: GPL-2.0

//! What the context of a call allows.
//!
//! A unit is installed in the context of the allocation that needs it. That may be `xas_alloc()`,
//! which allocates the nodes of a page cache with interrupts off.
//!
//! C headers: [`include/linux/gfp.h`](srctree/include/linux/gfp.h),
//! [`include/linux/sched.h`](srctree/include/linux/sched.h)

use core::mem::size_of;
use kernel::{
    alloc::{
        AllocError,
        Flags, //
    },
    bindings,
    page::PAGE_SIZE,
    prelude::*, //
};

/// Returns whether an allocation with `flags` may sleep.
fn may_block(flags: Flags) -> bool {
    // SAFETY: An FFI call with no additional requirements.
    unsafe { bindings::gfpflags_allow_blocking(flags.as_raw()) }
}

/// Allocates a vector with room for `capacity` elements.
///
/// May sleep if `flags` allow it; then freeing the vector may sleep, too, except in an RCU
/// callback. If they don't allow it, more than a page is refused: only `vmalloc()` might have it,
/// whose memory must not be freed where sleeping is not allowed.
pub(crate) fn vec_with_capacity<T>(capacity: usize, flags: Flags) -> Result<KVVec<T>, AllocError> {
    if capacity.saturating_mul(size_of::<T>()) > PAGE_SIZE && !may_block(flags) {
        return Err(AllocError);
    }
    KVVec::with_capacity(capacity, flags)
}

/// Lets others run, if it is time. Must be called only where sleeping is allowed.
pub(crate) fn cond_resched() {
    // SAFETY: An FFI call with no additional requirements.
    unsafe { bindings::cond_resched() };
}
