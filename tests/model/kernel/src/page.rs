// SPDX-License-Identifier: GPL-2.0

//! Pages.

/// Bytes of a page.
pub const PAGE_SIZE: usize = 4096;
