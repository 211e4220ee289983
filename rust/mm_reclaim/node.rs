// SPDX-License-Identifier: GPL-2.0

//! NUMA nodes.

use kernel::bindings;

/// The number of a NUMA node.
///
/// # Invariants
///
/// The node is a possible one, so that every memcg has a `struct mem_cgroup_per_node` for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Node(i32);

impl Node {
    /// Creates a node from its number.
    ///
    /// # Safety
    ///
    /// `nid` must be a possible node.
    #[inline]
    pub(crate) unsafe fn from_raw(nid: i32) -> Self {
        // INVARIANT: As the safety requirements say.
        Self(nid)
    }

    /// Returns the number of the node.
    #[inline]
    pub(crate) fn as_raw(self) -> i32 {
        self.0
    }

    /// Iterates over all possible nodes, in ascending order.
    pub(crate) fn possible() -> impl Iterator<Item = Node> + Clone {
        let next = |nid| {
            // SAFETY: An FFI call with no additional requirements.
            let nid = unsafe { bindings::next_possible_node(nid) };

            // INVARIANT: `next_possible_node()` returns a possible node, or `MAX_NUMNODES`.
            (nid < bindings::MAX_NUMNODES as i32).then_some(Node(nid))
        };

        core::iter::successors(next(-1), move |node| next(node.0))
    }
}
