// SPDX-License-Identifier: GPL-2.0

//! A shared position that is moved to a group without evidence of a reference.

#![allow(warnings)]

include!("../src/modules.rs");

use iter::{
    Group,
    SharedPosition, //
};

fn misuse<T: Group, P: SharedPosition<T>>() {
    let _: fn(&P, Option<&T>, Option<&T>) -> bool = P::advance;
}

fn main() {}
