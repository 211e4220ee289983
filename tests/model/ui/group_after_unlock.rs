// SPDX-License-Identifier: GPL-2.0

//! A group that was found under RCU, and is used when the read-side lock is no longer held.

#![allow(warnings)]

include!("../src/modules.rs");

use iter::Group;
use kernel::sync::rcu::read_lock;

fn misuse<T: Group>(root: &T) {
    let guard = read_lock();
    let group = T::next(None, iter::Verdict::Visit, root, &guard);

    drop(guard);
    group.and_then(T::try_get);
}

fn main() {}
