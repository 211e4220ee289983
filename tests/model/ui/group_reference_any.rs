// SPDX-License-Identifier: GPL-2.0

//! A reference on a group of any kind, of which nobody knows whether it has one.

#![allow(warnings)]

include!("../src/modules.rs");

use kernel::sync::aref::ARef;

fn misuse<T: iter::Group>(group: &T) {
    let _ = ARef::from(group);
}

fn main() {}
