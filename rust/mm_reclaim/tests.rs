// SPDX-License-Identifier: GPL-2.0

//! KUnit suites: each module against a simple model, over random sequences of operations.
//!
//! Every test prints its seed; `mm_reclaim_test.seed=` repeats it. The suites with threads are in
//! mm/tests/mm_reclaim.

#[cfg(CONFIG_MEMCG_V1)]
mod excess;
mod group;
mod hierarchy;
mod id;
mod info;
mod iter;
mod memcg_bitmap;
mod random;
mod unit;
