// SPDX-License-Identifier: GPL-2.0

//! A shared position that is moved to a group without evidence of a reference.

#![allow(warnings)]

include!("../src/modules.rs");

use iter::{
    Group,
    SharedPosition, //
};

fn misuse<T: Group>(position: &impl SharedPosition<T>, group: &T) {
    position.advance(None, Some(group));
}

fn main() {}
