// SPDX-License-Identifier: GPL-2.0

//! What every file of the kernel has in scope.

pub use core::ffi::c_long;

pub use crate::{
    alloc::{
        flags::*,
        KBox,
        KVVec, //
    },
    error::{
        code::*,
        Error,
        Result, //
    }, //
};
