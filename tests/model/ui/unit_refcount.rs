// SPDX-License-Identifier: GPL-2.0

//! A reference that is given up though nobody owned it.

#![allow(warnings)]

include!("../src/modules.rs");

fn misuse(unit: &unit::Unit) {
    unit.refcount().0.dec_and_test();
}

fn main() {}
