// SPDX-License-Identifier: GPL-2.0

//! Memory cgroup slab reclaim.
//!
//! Keeps, for every memory cgroup and node, a map of the shrinkers that may have objects of it,
//! and walks memory cgroups and their maps on behalf of reclaim. How it works, and the protocols
//! that the comments here refer to: Documentation/mm/mm_reclaim.rst.
//!
//! The modules, from the boundary to C down. Each uses only modules below it:
//!
//! | module | owns | `unsafe` |
//! |---|---|---|
//! | [`entry`] | what C calls: pointers become types, results errnos | yes |
//! | `entry::walk` | what C calls to walk, and for priorities and soft limits | yes |
//! | `entry::retain` | what C asks for page cache that outlives limits | no |
//! | `entry::debugfs` | how a map is printed | no |
//! | [`lifecycle`] | what happens to maps when shrinkers, memcgs and nodes come and go | no |
//! | [`walk`] | the walk of one memcg's shrinkers, and of all memcgs that have some | no |
//! | [`verify`] | the comparison of maps with shrinkers, for debugging | no |
//! | [`deferred`] | the work that shrinkers left over, and who inherits it | no |
//! | [`shrinker`] | C's shrinkers as Rust types, and which have ids | yes |
//! | [`memcg`] | C's memcgs as Rust types, and what these keep for Rust | yes |
//! | [`reclaimable`] | which memcgs have something to reclaim, and their order | no |
//! | `soft_limit::walk` | the order in which memcgs in excess are visited | no |
//! | `soft_limit` | which memcgs are in excess, and whether a pass over them will do | no |
//! | [`priority`] | which memcgs reclaim spares, and until when | no |
//! | [`retain`] | whose page cache outlives a limit, and how much of it | no |
//! | `retain::debt` | whether the pool of such page cache is of use | no |
//! | [`dying`] | what becomes of the per-CPU statistics of removed memcgs | no |
//! | [`iter`] | the rules of a walk of a hierarchy, alone or shared | no |
//! | [`map::on_node`] | the bits of one memcg and node, and whether it is listed | no |
//! | [`map`] | the units of one memcg: install and free them | no |
//! | [`table`] | the list of a memcg's units | no |
//! | [`memcg_table`] | memcgs by their private ids | no |
//! | [`memcg_bitmap`] | sets of memcgs by their private ids | no |
//! | [`id_table`] | shrinkers by their ids | yes |
//! | [`sys`] | references to units; calls for nodes, memory, scheduling, counters | yes |
//! | [`layout`] | which structures of C the types that they embed stand for | no |
//! | [`shrinker_id`] | the id of a shrinker | no |
//! | [`mod@unit`] | bits and deferred work of 64 shrinkers of one memcg and node | no |
//! | [`bits`] | a word of bits that several CPUs change | no |
//!
//! Which of them it uses, as tests/model/layers.py checks:
//!
//! - `entry`: `lifecycle`, `walk`, `shrinker`, `memcg`, `reclaimable`, `dying`, `retain`,
//!   `map::on_node`, `id_table`, `sys`, `shrinker_id`
//! - `entry::walk`: `walk`, `verify`, `memcg`, `reclaimable`, `soft_limit::walk`, `soft_limit`,
//!   `priority`, `iter`, `sys`
//! - `entry::retain`: `retain`
//! - `entry::debugfs`: `memcg`, `map::on_node`, `sys`, `shrinker_id`, `unit`
//! - `lifecycle`: `deferred`, `shrinker`, `memcg`, `reclaimable`, `iter`, `map::on_node`, `sys`,
//!   `shrinker_id`
//! - `walk`: `deferred`, `verify`, `shrinker`, `memcg`, `iter`, `map::on_node`, `memcg_bitmap`,
//!   `sys`, `shrinker_id`
//! - `verify`: `shrinker`, `memcg`, `reclaimable`, `sys`, `shrinker_id`
//! - `deferred`: `memcg`, `iter`, `map::on_node`, `sys`, `shrinker_id`
//! - `shrinker`: `memcg`, `id_table`, `sys`, `shrinker_id`
//! - `memcg`: `reclaimable`, `soft_limit`, `priority`, `retain`, `dying`, `iter`, `map::on_node`,
//!   `map`, `memcg_table`, `memcg_bitmap`, `sys`, `layout`, `shrinker_id`
//! - `reclaimable`: `iter`, `map::on_node`, `memcg_bitmap`, `sys`
//! - `soft_limit::walk`: `soft_limit`, `iter`, `memcg_bitmap`, `sys`
//! - `soft_limit`: `iter`, `memcg_bitmap`, `sys`, `layout`, `bits`
//! - `priority`: `iter`, `sys`, `layout`
//! - `retain`: `retain::debt`, `iter`, `layout`
//! - `retain::debt`: `layout`
//! - `dying`: `iter`, `sys`
//! - `map::on_node`: `map`, `table`, `memcg_bitmap`, `sys`, `layout`, `shrinker_id`, `unit`,
//!   `bits`
//! - `map`: `table`, `sys`, `layout`, `shrinker_id`, `unit`
//! - `table`: `sys`, `unit`
//! - `memcg_table`: `memcg_bitmap`
//! - `memcg_bitmap`: `layout`, `bits`
//! - `id_table`: `shrinker_id`, `unit`
//! - `sys`: `unit`, `bits`
//! - `layout`: `bits`
//! - `shrinker_id`: `unit`
//! - `unit`: `bits`
//!
//! C header: [`include/linux/mm_reclaim.h`](srctree/include/linux/mm_reclaim.h)

#![deny(unsafe_op_in_unsafe_fn)]

mod bits;
mod deferred;
mod dying;
mod entry;
mod id_table;
mod iter;
mod layout;
mod lifecycle;
mod map;
mod memcg;
mod memcg_bitmap;
mod memcg_table;
mod priority;
mod reclaimable;
mod retain;
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
