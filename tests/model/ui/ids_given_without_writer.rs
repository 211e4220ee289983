// SPDX-License-Identifier: GPL-2.0

//! An id that is given without the right to change the table.

#![allow(warnings)]

include!("../src/modules.rs");

fn misuse(table: &id_table::IdTable<u32>) {
    let _ = table.find_free(kernel::alloc::flags::GFP_KERNEL);
}

fn main() {}
