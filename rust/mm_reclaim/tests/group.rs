// SPDX-License-Identifier: GPL-2.0

//! Groups that are no memcgs.

use core::cell::Cell;
use kernel::sync::rcu::Guard;

use crate::{
    map::{
        on_node::{
            HasMap,
            NodeSummary, //
        },
        Map, //
    },
    memcg_bitmap::{
        HasMemcgId,
        MemcgBitmap,
        MemcgId, //
    },
    shrinker_id::ShrinkerId,
    sys::Node, //
};

/// A group with a map for a single node; the map is closed when it is dropped, so that its units
/// are freed.
pub(super) struct Group<'b> {
    pub(super) map: Map,
    node_summary: NodeSummary,
    id: i32,
    bitmap: &'b MemcgBitmap,
    /// What another CPU sets when next the group is asked for its id.
    pub(super) late: Cell<Option<ShrinkerId>>,
}

impl<'b> Group<'b> {
    /// Creates a group that is listed in `bitmap` by `id`, or never if that is 0.
    pub(super) fn new(id: i32, bitmap: &'b MemcgBitmap) -> Self {
        Self {
            map: Map::new(),
            node_summary: NodeSummary::new(),
            id,
            bitmap,
            late: Cell::new(None),
        }
    }
}

impl Group<'static> {
    /// Creates a group that is never listed.
    pub(super) fn unlisted() -> Self {
        static NONE: MemcgBitmap = MemcgBitmap::new();

        Self::new(0, &NONE)
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        self.map.close(|_, _, _| ());
    }
}

impl HasMemcgId for Group<'_> {
    fn listed_id(&self) -> Option<MemcgId> {
        if let (Some(id), Ok(node)) = (self.late.take(), node()) {
            self.map_on(node).set(id);
        }
        MemcgId::from_raw(self.id)
    }

    fn with_id<'g>(&'g self, id: MemcgId, _guard: &'g Guard) -> Option<&'g Self> {
        (self.listed_id() == Some(id)).then_some(self)
    }
}

impl HasMap for Group<'_> {
    fn map(&self) -> &Map {
        &self.map
    }

    fn node_summary(&self, _node: Node) -> &NodeSummary {
        &self.node_summary
    }

    fn bitmap(&self, _node: Node) -> &MemcgBitmap {
        self.bitmap
    }
}

/// Returns a node.
pub(super) fn node() -> kernel::error::Result<Node> {
    Node::possible().next().ok_or(kernel::error::code::ENODEV)
}
