// SPDX-License-Identifier: GPL-2.0

//! Errors.

use crate::alloc::AllocError;

/// An errno.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(i32);

/// What a function returns that may fail.
pub type Result<T = (), E = Error> = core::result::Result<T, E>;

impl From<AllocError> for Error {
    fn from(_: AllocError) -> Self {
        code::ENOMEM
    }
}

/// The errnos that the crate knows.
pub mod code {
    use super::Error;

    /// Out of memory.
    pub const ENOMEM: Error = Error(-12);
    /// Device or resource busy.
    pub const EBUSY: Error = Error(-16);
    /// No space left.
    pub const ENOSPC: Error = Error(-28);
}
