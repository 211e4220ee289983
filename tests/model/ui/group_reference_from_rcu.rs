// SPDX-License-Identifier: GPL-2.0

//! A reference on a group that was found under RCU, and may have none left.

#![allow(warnings)]

include!("../src/modules.rs");

use iter::Group;
use kernel::sync::{
    aref::ARef,
    rcu, //
};

fn misuse(root: &memcg::MemCgroup) {
    let guard = rcu::read_lock();

    if let Some(group) = Group::next_descendant_pre(None, root, &guard) {
        let _ = ARef::from(group);
    }
}

fn main() {}
