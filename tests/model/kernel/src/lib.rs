// SPDX-License-Identifier: GPL-2.0

//! As much of the kernel crate as `rust/mm_reclaim` uses, for a model checker.
//!
//! Same names, same signatures; behind them is [`model`], which is no part of the kernel. What is
//! modelled, and what isn't, is told there.

#![deny(unsafe_op_in_unsafe_fn)]

pub mod alloc;
pub mod bindings;
pub mod error;
pub mod model;
pub mod page;
pub mod prelude;
pub mod sync;
pub mod time;
pub mod types;

/// Where the kernel would warn, the model ends.
#[macro_export]
macro_rules! warn_on {
    ($cond:expr) => {{
        let cond = $cond;

        assert!(!cond, "WARN_ON({})", stringify!($cond));
        cond
    }};
}

/// Returns the structure of which `$ptr` points to a field.
#[macro_export]
macro_rules! container_of {
    ($ptr:expr, $type:ty, $field:ident) => {
        $ptr.byte_sub(::core::mem::offset_of!($type, $field))
            .cast::<$type>()
    };
}
