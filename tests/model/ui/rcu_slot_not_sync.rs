// SPDX-License-Identifier: GPL-2.0

//! A value that one CPU at a time may use, read by all.

use kernel::sync::rcu::RcuSlot;

struct OfOneCpu(*mut u32);

// SAFETY: None is needed: nothing uses it.
unsafe impl Send for OfOneCpu {}

fn misuse(_: RcuSlot<OfOneCpu>) {}

fn main() {}
