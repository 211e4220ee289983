// SPDX-License-Identifier: GPL-2.0

//! A reference that is given up though nobody owned it.

#![allow(warnings)]

include!("../src/modules.rs");

fn misuse(unit: &sys::SharedUnit) {
    unit.refcount.dec_and_test();
}

fn main() {}
