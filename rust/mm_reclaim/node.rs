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
    pub(crate) fn possible() -> impl Iterator<Item = Node> {
        // SAFETY: `next_possible_node()` has no requirements, and returns possible nodes.
        unsafe { Self::iter(bindings::next_possible_node) }
    }

    /// Iterates over the nodes that have memory, or are about to get some, in ascending order.
    ///
    /// There may be more of them later, but not fewer: see `install_shrinker_node()`.
    pub(crate) fn with_memory() -> impl Iterator<Item = Node> {
        // SAFETY: `next_shrinker_node()` has no requirements, and returns possible nodes.
        unsafe { Self::iter(bindings::next_shrinker_node) }
    }

    /// Returns the node that keeps the deferred work which belongs to no node with units.
    ///
    /// It has units itself, and is the same one for ever.
    pub(crate) fn home() -> Self {
        // INVARIANT: A node with memory is a possible one.
        // SAFETY: An FFI call with no additional requirements.
        Self(unsafe { bindings::shrinker_home_node() })
    }

    /// Returns whether objects can be on the node.
    pub(crate) fn has_memory(self) -> bool {
        Self::with_memory().any(|node| node == self)
    }

    /// Iterates with a C function that returns the node after the given one.
    ///
    /// # Safety
    ///
    /// `next` must be safe to call, and return a possible node or at least `MAX_NUMNODES`.
    unsafe fn iter(next: unsafe extern "C" fn(i32) -> i32) -> impl Iterator<Item = Node> {
        let mut last = -1;

        core::iter::from_fn(move || {
            // SAFETY: The caller vouches for `next`.
            last = unsafe { next(last) };

            // INVARIANT: The caller vouches for what `next` returns.
            (last < bindings::MAX_NUMNODES as i32).then_some(Node(last))
        })
        .fuse()
    }
}
