// SPDX-License-Identifier: GPL-2.0

//! Another reference on a group, of which nobody knows whether it has one: what `ARef::from()` and
//! `ARef::clone()` do.

#![allow(warnings)]

include!("../src/modules.rs");

use kernel::sync::aref::AlwaysRefCounted;

fn misuse<T: iter::Group>(group: &T) {
    AlwaysRefCounted::inc_ref(group);
}

fn main() {}
