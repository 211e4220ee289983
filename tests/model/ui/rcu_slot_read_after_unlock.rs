// SPDX-License-Identifier: GPL-2.0

//! A value that is used when the read-side lock is no longer held.

use kernel::sync::rcu::{
    read_lock,
    RcuSlot, //
};

static SLOT: RcuSlot<u32> = RcuSlot::new();

fn main() {
    let guard = read_lock();
    let value = SLOT.read(&guard).get();

    drop(guard);
    println!("{value:?}");
}
