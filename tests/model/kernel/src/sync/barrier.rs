// SPDX-License-Identifier: GPL-2.0

//! Memory barriers.

use crate::model;

/// A full barrier.
pub struct Full;

/// `smp_mb()`.
pub fn smp_mb(_: Full) {
    if model::is_exploring() {
        loom::sync::atomic::fence(loom::sync::atomic::Ordering::SeqCst);
    }
}
