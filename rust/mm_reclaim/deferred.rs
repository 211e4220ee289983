// SPDX-License-Identifier: GPL-2.0

//! The work that shrinkers left over for a memcg, on each node.
//!
//! Owns who inherits it. The counters are in the units of the [`map`](crate::map).

use crate::{
    iter::path,
    map::on_node::HasMap,
    memcg::MemCgroup,
    shrinker_id::ShrinkerId,
    sys::Node, //
};

/// Adds to the work that the shrinker with `id` left over, and returns the sum.
///
/// Where the memcg has no unit for it any more, the nearest ancestor takes the work over. The root
/// has units for all shrinkers. On a node where nobody has units, which then has no memory, the
/// work becomes that of [`Node::home`]. Does not sleep.
pub(crate) fn add(memcg: &MemCgroup, node: Node, id: ShrinkerId, nr: isize) -> isize {
    memcg
        .map_on(node)
        .add_deferred(id, nr)
        .unwrap_or_else(|rest| hand_over(memcg, node, id, rest))
}

/// Adds work that a memcg has no unit for to what an heir has, and returns the sum.
#[cold]
fn hand_over(memcg: &MemCgroup, node: Node, id: ShrinkerId, mut nr: isize) -> isize {
    for node in [node, Node::home()] {
        for heir in path(memcg) {
            match heir.map_on(node).add_deferred(id, nr) {
                Ok(sum) => return sum,
                Err(rest) => nr = rest,
            }
        }
    }
    // Nobody takes it.
    nr
}
