// SPDX-License-Identifier: GPL-2.0

//! What every file of the kernel has in scope.

pub use crate::{
    alloc::{
        KBox,
        KVVec, //
    },
    error::{
        code::*,
        Error,
        Result, //
    }, //
};
