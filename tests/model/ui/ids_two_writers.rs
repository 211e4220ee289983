// SPDX-License-Identifier: GPL-2.0

//! Two at a time that may change a table.

#![allow(warnings)]

include!("../src/modules.rs");

fn misuse(table: &mut id::IdTable<u32>, id: id::Id) {
    let mut one = rcu::Writer::exclusive(table);
    let mut other = rcu::Writer::exclusive(table);

    one.remove(id);
    other.remove(id);
}

fn main() {}
