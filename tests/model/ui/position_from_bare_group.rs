// SPDX-License-Identifier: GPL-2.0

//! Evidence of a reference that is made of a bare group.

#![allow(warnings)]

include!("../src/modules.rs");

use iter::{
    Group,
    SharedPosition,
    Step, //
};

fn misuse<T: Group>(position: &impl SharedPosition<T>, group: &T) {
    position.advance(None, Some(&Step::Descendant(group)));
}

fn main() {}
