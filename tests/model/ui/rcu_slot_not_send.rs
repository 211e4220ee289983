// SPDX-License-Identifier: GPL-2.0

//! A value that has to be dropped where it was made, dropped by RCU on whatever CPU.

use kernel::sync::rcu::RcuSlot;

struct OfThisCpu(*mut u32);

// SAFETY: None is needed: nothing uses it.
unsafe impl Sync for OfThisCpu {}

fn misuse(_: RcuSlot<OfThisCpu>) {}

fn main() {}
