// SPDX-License-Identifier: GPL-2.0

//! The crate `rust/mm_reclaim`, on the host and under a model checker.
//!
//! The files are the ones that the kernel builds, not copies. What they take from the kernel crate
//! comes from the crate in `kernel/`; its module `model` tells what is modelled, and what isn't.
//! Only two modules of the boundary to C are other ones here: [`memcg`] and [`shrinker`].

#![deny(unsafe_op_in_unsafe_fn)]
// Without `export`, the entry points for C, some is not called.
#![allow(dead_code)]
#![cfg(test)]

#[path = "../../../rust/mm_reclaim/bits.rs"]
mod bits;
#[path = "../../../rust/mm_reclaim/cache.rs"]
mod cache;
#[path = "../../../rust/mm_reclaim/excess.rs"]
mod excess;
#[path = "../../../rust/mm_reclaim/excess_walk.rs"]
mod excess_walk;
#[path = "../../../rust/mm_reclaim/id.rs"]
mod id;
#[path = "../../../rust/mm_reclaim/info.rs"]
mod info;
#[path = "../../../rust/mm_reclaim/iter.rs"]
mod iter;
#[path = "../../../rust/mm_reclaim/lifecycle.rs"]
mod lifecycle;
#[path = "../../../rust/mm_reclaim/memcg_bitmap.rs"]
mod memcg_bitmap;
#[path = "../../../rust/mm_reclaim/node.rs"]
mod node;
#[path = "../../../rust/mm_reclaim/once.rs"]
mod once;
#[path = "../../../rust/mm_reclaim/rcu.rs"]
mod rcu;
#[path = "../../../rust/mm_reclaim/stat.rs"]
mod stat;
#[path = "../../../rust/mm_reclaim/table.rs"]
mod table;
#[path = "../../../rust/mm_reclaim/unit.rs"]
mod unit;
#[path = "../../../rust/mm_reclaim/verify.rs"]
mod verify;
#[path = "../../../rust/mm_reclaim/walk.rs"]
mod walk;

mod memcg;
mod shrinker;

mod explore;
mod histories;
mod litmus;
