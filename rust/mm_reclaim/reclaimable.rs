// SPDX-License-Identifier: GPL-2.0

//! Which groups have something to reclaim on a node, and the order in which global reclaim visits
//! them.
//!
//! A group that may have something to shrink is listed by its map, see
//! [`on_node`](crate::map::on_node). Here is the other list, of those that have pages on the node's
//! lists `LRU_INACTIVE_ANON` to `LRU_UNEVICTABLE`. A group is listed before its first page comes,
//! and taken off when reclaim finds it without any, both under its `lru_lock`: so the list may have
//! a group too many, but lacks none. The generations of the multi-gen LRU are other lists.
//!
//! Reclaim of all groups goes through both by ids, so that it costs what there is to visit, however
//! many have nothing. If its position is its own, it passes over those that have a few pages, too,
//! as long as its priority looks at none of so few.
//!
//! It is not a walk of the hierarchy: what a group inherits from those above it, which may not be
//! visited, is the caller's to bring up to date.

use kernel::sync::rcu::Guard;

use crate::{
    iter::{
        Group,
        Order,
        Verdict, //
    },
    map::on_node::HasMap,
    memcg_bitmap::MemcgBitmap,
    sys::Node, //
};

/// Who has pages on lists: a memcg.
pub(crate) trait HasLru: HasMap {
    /// Returns the list of those that may have pages on `node`.
    fn lru_bitmap(&self, node: Node) -> &MemcgBitmap;

    /// Returns whether no list of `node` has a page. That lasts while they are locked.
    fn lru_is_empty(&self, node: Node) -> bool;

    /// Calls `f` with the lists of `node` locked. `f` must not sleep, nor take a lock.
    ///
    /// Does not sleep. Interrupts must be on.
    fn with_lru_locked(&self, node: Node, f: impl FnOnce());

    /// Returns the number of the id by which it is, or was, found; 0 if that is none.
    fn last_id(&self) -> u32;

    /// Returns whether it is listed as one that may have pages on `node`.
    fn has_lru_bit(&self, node: Node) -> bool {
        self.listed_id()
            .is_some_and(|id| self.lru_bitmap(node).contains(id))
    }
}

/// Lists a group, whose lists of `node` are locked, before a page comes to one of them. Does not
/// sleep.
pub(crate) fn list<G: HasLru>(group: &G, node: Node) {
    if let Some(id) = group.listed_id() {
        group.lru_bitmap(node).set(id);
    }
}

/// Returns whether a group has pages on `node`, and nothing to shrink. One that has no page any
/// more is visited, so that it is taken off the list.
pub(crate) fn has_only_pages<G: HasLru>(group: &G, node: Node) -> bool {
    !group.map_on(node).is_listed() && !group.lru_is_empty(node)
}

/// Takes a group off the list if it has no page on `node`. Does not sleep.
pub(crate) fn unlist_if_empty<G: HasLru>(group: &G, node: Node) {
    let bitmap = group.lru_bitmap(node);
    let Some(id) = group.listed_id().filter(|id| bitmap.contains(*id)) else {
        return;
    };
    if !group.lru_is_empty(node) {
        return;
    }
    // One that went offline was taken off before, under the same lock, and its id may be another
    // group's by now. Until then it is the same.
    group.with_lru_locked(node, || {
        if !group.map().is_closed() && group.lru_is_empty(node) {
            bitmap.clear(id);
        }
    });
}

/// Takes a group that goes offline off the list for good: its map is closed, its pages belong to
/// its parent, and it has its id still. Has no effect later. Does not sleep.
pub(crate) fn close<G: HasLru>(group: &G, node: Node) {
    if let Some(id) = group.listed_id() {
        group.with_lru_locked(node, || group.lru_bitmap(node).clear(id));
    }
}

/// The order of a walk of what can be reclaimed on a node: the root of all, and by ascending id
/// those that are listed. Not for another root.
///
/// A group that is listed all the time is visited once in a round, and none twice.
pub(crate) struct ReclaimableOrder(pub(crate) Node);

impl<G: Group + HasLru> Order<G> for ReclaimableOrder {
    fn next<'g>(
        &self,
        pos: Option<&'g G>,
        _verdict: Verdict,
        root: &'g G,
        guard: &'g Guard,
    ) -> Option<&'g G> {
        let Some(pos) = pos else {
            return Some(root);
        };
        let (with_pages, shrinkable) = (root.lru_bitmap(self.0), root.bitmap(self.0));
        // Also if it went offline, and has no id any more.
        let mut start = pos.last_id().saturating_add(1);

        loop {
            let id = with_pages.next_in_either(shrinkable, start)?;

            // Who is listed and not found comes online just now, or goes offline.
            if let Some(group) = root.with_id(id, guard) {
                return Some(group);
            }
            start = id.after();
        }
    }
}
