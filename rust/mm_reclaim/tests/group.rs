// SPDX-License-Identifier: GPL-2.0

//! Groups that are no memcgs.

use crate::{
    info::{
        Map,
        NodeInfo,
        Owner, //
    },
    node::Node, //
};

/// A group with a map for a single node; the map is closed when it is dropped, so that its units
/// are freed.
pub(super) struct Group<'p> {
    pub(super) map: Map,
    node_info: NodeInfo,
    parent: Option<&'p Group<'p>>,
}

impl<'p> Group<'p> {
    pub(super) fn new(parent: Option<&'p Group<'p>>) -> Self {
        Self {
            map: Map::new(),
            node_info: NodeInfo::new(),
            parent,
        }
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        self.map.close(|_, _, _| ());
    }
}

impl Owner for Group<'_> {
    fn map(&self) -> &Map {
        &self.map
    }

    fn node_info(&self, _node: Node) -> &NodeInfo {
        &self.node_info
    }

    fn parent(&self) -> Option<&Self> {
        self.parent
    }
}

/// Returns a node.
pub(super) fn node() -> kernel::error::Result<Node> {
    Node::possible().next().ok_or(kernel::error::code::ENODEV)
}
