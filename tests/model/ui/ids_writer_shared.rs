// SPDX-License-Identifier: GPL-2.0

//! A right to change a table that two threads have at the same time.

#![allow(warnings)]

include!("../src/modules.rs");

fn misuse(writer: &id_table::Writer<'_, u32>, id: shrinker_id::ShrinkerId) {
    writer.remove(id);
}

fn main() {}
