// SPDX-License-Identifier: GPL-2.0

//! In place of `rust/mm_reclaim/layout.rs`: there are no structures of C here, and atomics have
//! another layout than in the kernel.

/// Says which structure of C a Rust structure stands for.
macro_rules! mirrors {
    ($($anything:tt)*) => {};
}

pub(crate) use mirrors;
