// SPDX-License-Identifier: GPL-2.0

//! A group that is loaded from a shared position, and used when the read-side lock is no longer held.

#![allow(warnings)]

include!("../src/modules.rs");

use iter::{
    Group,
    SharedPosition, //
};
use kernel::sync::rcu::read_lock;

fn misuse<T: Group>(position: &impl SharedPosition<T>) {
    let guard = read_lock();
    let group = position.load(&guard);

    drop(guard);
    group.and_then(T::try_get);
}

fn main() {}
