// SPDX-License-Identifier: GPL-2.0

//! Memory cgroup slab reclaim.
//!
//! Keeps, for every memory cgroup and node, a map of the shrinkers that may have objects of it,
//! and walks memory cgroups and their maps on behalf of reclaim. How it works, and the protocols
//! that the comments here refer to: Documentation/mm/mm_reclaim.rst.
//!
//! The modules, from the boundary down; each uses only those below it:
//!
//! | module | task | `unsafe` |
//! |---|---|---|
//! | [`entry`] | the entry points that C calls: pointers to types, results to errnos | yes |
//! | [`lifecycle`] | what happens to the maps when shrinkers and memcgs come and go | no |
//! | [`walk`], [`verify`] | shrink one memcg, and check its map | no |
//! | [`shrinker`], [`memcg`] | C objects as Rust types | yes |
//! | [`soft_limit`] | soft limits: who reclaim takes from first | no |
//! | [`iter`] | walk a hierarchy of groups | no |
//! | [`id_table`], [`shrinker_id`] | shrinker ids | no |
//! | [`map`] | the map of one memcg: install, set, clear | no |
//! | [`memcg_bitmap`] | bitmaps of memcgs, and which have something to shrink | no |
//! | [`table`] | the list of a memcg's units | no |
//! | [`layout`] | which structures of C these and the maps stand for | no |
//! | [`sys`] | nodes, memory, scheduling, counters | yes |
//! | [`mod@unit`], [`bits`] | 64 shrinkers of one memcg and node | no |
//!
//! C header: [`include/linux/mm_reclaim.h`](srctree/include/linux/mm_reclaim.h)

#![deny(unsafe_op_in_unsafe_fn)]

mod bits;
mod entry;
mod id_table;
mod iter;
mod layout;
mod lifecycle;
mod map;
mod memcg;
mod memcg_bitmap;
mod shrinker;
mod shrinker_id;
#[cfg(CONFIG_MEMCG_V1)]
mod soft_limit;
mod sys;
mod table;
mod unit;
mod verify;
mod walk;

#[cfg(CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST)]
mod tests;

/// Prefix of this crate's messages in the kernel log.
const __LOG_PREFIX: &[u8] = b"mm_reclaim\0";
