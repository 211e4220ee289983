// SPDX-License-Identifier: GPL-2.0

//! KUnit suites: each module against a simple model, over random sequences of operations.
//!
//! Every test prints its seed; `mm_reclaim_test.seed=` repeats it. The suites with threads are in
//! mm/tests/mm_reclaim.

mod dying;
mod entry;
mod group;
mod hierarchy;
mod id_table;
mod iter;
mod map;
mod memcg_bitmap;
mod memcg_table;
mod priority;
mod random;
mod retain;
#[cfg(CONFIG_MEMCG_V1)]
mod soft_limit;
mod unit;
