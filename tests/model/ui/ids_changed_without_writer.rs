// SPDX-License-Identifier: GPL-2.0

//! An id that is taken back without the right to change the table.

#![allow(warnings)]

include!("../src/modules.rs");

fn misuse(table: &id_table::IdTable<u32>, id: shrinker_id::ShrinkerId) {
    table.remove(id);
}

fn main() {}
