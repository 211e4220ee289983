// SPDX-License-Identifier: GPL-2.0

//! How many memcgs of each subtree have something to shrink on a node.
//!
//! A walk of the hierarchy passes over a subtree with none. The count of a memcg includes itself,
//! except for the root: walks always visit it.
//!
//! A memcg that is not idle is marked as counted, and added to its own count and to those of its
//! ancestors. Whoever makes it not idle adds it before setting the mark, whoever takes the mark
//! back subtracts it afterwards. So a count is never too low for the marks, and exact when nothing
//! changes.

use kernel::sync::atomic::{
    Atomic,
    Relaxed, //
};

use crate::{
    info::{
        Info,
        Owner,
        COUNTED, //
    },
    once, //
};

/// The number of memcgs in a subtree that are marked as counted on a node.
#[repr(transparent)]
pub(crate) struct Subtree(Atomic<isize>);

impl Subtree {
    /// Creates an empty count, as it is in zeroed memory.
    #[cfg(CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST)]
    pub(crate) const fn new() -> Self {
        Self(Atomic::new(0))
    }

    /// Reads the count.
    #[inline]
    pub(crate) fn nr(&self) -> isize {
        once::read(&self.0)
    }
}

impl<O: Owner> Info<'_, O> {
    /// Returns whether no memcg of the subtree has anything to shrink on this node.
    ///
    /// For the root, which is not counted itself: whether none below it has.
    #[inline]
    pub(crate) fn is_subtree_idle(&self) -> bool {
        self.node_info.subtree.nr() == 0
    }

    /// Counts the memcg in its subtrees, unless it is counted already. The caller has just made it
    /// not idle.
    ///
    /// Does not sleep; interrupts may be off. Takes as many steps as there are ancestors.
    #[inline]
    pub(crate) fn count(&self) {
        if !self.node_info.flags.test(COUNTED) && self.owner.parent().is_some() {
            self.add_mark();
        }
    }

    fn add_mark(&self) {
        self.add_to_subtrees(1);

        // ORDERING: Fully ordered. The counts come before the mark. The mark comes before the map
        // is read again; pairs with `Map::close`, after which the mark is taken back.
        if self.node_info.flags.set(COUNTED) {
            self.add_to_subtrees(-1);
        } else if self.owner.map().is_closed() {
            self.uncount();
        }
    }

    /// Takes the memcg out of the counts if there is nothing to shrink any more.
    ///
    /// Does not sleep.
    #[inline]
    pub(crate) fn uncount_if_idle(&self) {
        if self.is_idle() && self.node_info.flags.test(COUNTED) {
            self.uncount();
            if !self.is_idle() {
                self.count();
            }
        }
    }

    /// Takes the memcg out of the counts. Does not sleep.
    pub(crate) fn uncount(&self) {
        // ORDERING: Fully ordered before the summary is read again; pairs with the barriers between
        // the summary and the mark in `set_summary` and `set_stray`.
        if self.node_info.flags.clear(COUNTED) {
            self.add_to_subtrees(-1);
        }
    }

    fn add_to_subtrees(&self, nr: isize) {
        let mut owner = Some(self.owner);

        while let Some(group) = owner {
            group.node_info(self.node).subtree.0.add(nr, Relaxed);
            owner = group.parent();
        }
    }
}
