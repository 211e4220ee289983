// SPDX-License-Identifier: GPL-2.0

//! Two at a time that may change a table.

#![allow(warnings)]

include!("../src/modules.rs");

fn misuse(table: &mut id_table::IdTable<u32>, id: shrinker_id::ShrinkerId) {
    let mut one = id_table::Writer::exclusive(table);
    let mut other = id_table::Writer::exclusive(table);

    one.remove(id);
    other.remove(id);
}

fn main() {}
