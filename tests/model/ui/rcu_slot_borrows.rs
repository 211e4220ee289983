// SPDX-License-Identifier: GPL-2.0

//! A value that borrows what is gone when RCU drops it.

use kernel::{
    alloc::flags::GFP_KERNEL,
    sync::rcu::{
        read_lock,
        RcuBox,
        RcuSlot, //
    }, //
};

struct Prints<'a>(&'a str);

impl Drop for Prints<'_> {
    fn drop(&mut self) {
        println!("{}", self.0);
    }
}

fn misuse(text: &str) {
    let slot = RcuSlot::new();
    let new = RcuBox::new(Prints(text), GFP_KERNEL).ok().unwrap();
    let guard = read_lock();

    let _ = slot.replace(&slot.read(&guard), new);
}

fn main() {}
