// SPDX-License-Identifier: GPL-2.0

//! A right to change a table that nobody has vouched for.

#![allow(warnings)]

include!("../src/modules.rs");

fn misuse(table: &id_table::IdTable<u32>, id: shrinker_id::ShrinkerId) {
    id_table::Writer::new(table).remove(id);
}

fn main() {}
