// SPDX-License-Identifier: GPL-2.0

//! A right to change a table that nobody has vouched for.

#![allow(warnings)]

include!("../src/modules.rs");

fn misuse(table: &id::IdTable<u32>, id: id::Id) {
    rcu::Writer::new(table).remove(id);
}

fn main() {}
