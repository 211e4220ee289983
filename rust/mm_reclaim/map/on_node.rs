// SPDX-License-Identifier: GPL-2.0

//! The map of one memcg as seen from one node: set and clear bits, and list the memcg.
//!
//! The units are those of the [`Map`]; here are the words beside it that say on which node a walk
//! has something to do, and the bit by which a walk of all memcgs finds this one.

use kernel::sync::{
    barrier::{
        smp_mb,
        Full, //
    },
    rcu::{
        self,
        Guard,
        RcuSlot, //
    }, //
};

use super::Map;
use crate::{
    bits::{
        AtomicBits,
        Bits, //
    },
    layout::mirrors,
    memcg_bitmap::{
        HasMemcgId,
        MemcgBitmap,
        MemcgId, //
    },
    shrinker_id::ShrinkerId,
    sys::Node,
    table::{
        Key,
        Table, //
    },
    unit::Unit, //
};

/// What is kept beside a [`Map`] for each node.
///
/// Part of `struct mem_cgroup_per_node`, as `struct shrinker_node_info`. A walk is not even begun
/// if both words are zero: see `shrinker_node_is_empty()`.
#[repr(C)]
pub(crate) struct NodeSummary {
    /// Bit k: a unit whose index is k (mod [`Unit::LEN`]) may have a bit set.
    unit_summary: AtomicBits,
    /// Bit k: a shrinker whose id is k (mod [`Unit::LEN`]) may have objects, but had no unit to set
    /// its bit in.
    strays: AtomicBits,
}

mirrors!(NodeSummary is kernel::bindings::shrinker_node_info {
    unit_summary: summary,
    strays: strays,
});

#[cfg(CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST)]
impl NodeSummary {
    /// Creates an empty summary, as it is in zeroed memory.
    pub(crate) const fn new() -> Self {
        Self {
            unit_summary: AtomicBits::new(),
            strays: AtomicBits::new(),
        }
    }
}

/// A unit that may have bits.
pub(crate) struct Pending {
    pub(crate) index: u32,
    pub(crate) bits: Bits,
    /// Where to look for the next one, unless this one is the last.
    pub(crate) next: Option<u32>,
}

/// Who has a map: a memcg.
pub(crate) trait HasMap: HasMemcgId {
    /// Returns the map.
    fn map(&self) -> &Map;

    /// Returns what is kept beside the map for `node`.
    fn node_summary(&self, node: Node) -> &NodeSummary;

    /// Returns the list of the memcgs that are not idle on `node`.
    fn bitmap(&self, node: Node) -> &MemcgBitmap;

    /// Notes that it is listed as one that has something to shrink on `node`. Does not sleep.
    fn note_listed(&self, _node: Node) {}

    /// Returns the map as seen from `node`.
    fn map_on(&self, node: Node) -> MapOnNode<'_, Self> {
        MapOnNode {
            owner: self,
            node_summary: self.node_summary(node),
            node,
        }
    }
}

/// The map of one memcg, as seen from one node.
pub(crate) struct MapOnNode<'a, O: ?Sized> {
    pub(crate) owner: &'a O,
    pub(crate) node_summary: &'a NodeSummary,
    pub(crate) node: Node,
}

impl<O: HasMap> MapOnNode<'_, O> {
    fn table(&self) -> &RcuSlot<Table> {
        &self.owner.map().table
    }

    fn key(&self, id: ShrinkerId) -> Key {
        Key {
            node: self.node,
            index: id.index(),
        }
    }

    /// Returns the unit of `id`, if there is one.
    #[inline(always)]
    pub(crate) fn unit<'g>(&self, id: ShrinkerId, guard: &'g Guard) -> Option<&'g Unit>
    where
        O: 'g,
    {
        self.table().read(guard).get()?.get(self.key(id))
    }

    /// Calls `f` with the unit of `id`, if there is one; returns zero, nothing or false if not.
    #[inline]
    fn with_unit<R: Default>(&self, id: ShrinkerId, f: impl FnOnce(&Unit) -> R) -> R {
        self.unit(id, &rcu::read_lock()).map_or_else(R::default, f)
    }

    /// Notes that the shrinker with `id` has an object. The object must be visible to its
    /// `count_objects` already.
    ///
    /// Does not sleep; may be called with interrupts off. Returns false if there is no unit for
    /// `id` though the map is open. Then the next walk asks all shrinkers whose ids have the same
    /// offset.
    pub(crate) fn set(&self, id: ShrinkerId) -> bool {
        // ORDERING: The caller made an object visible before it, and after it the bit in the unit
        // is read, and set only if it is clear. Pairs with the barrier in `clear`.
        smp_mb(Full);

        let guard = rcu::read_lock();
        if self.set_after_mb(id, &guard) {
            return true;
        }
        let is_closed = self.table().read(&guard).is_closed();
        if !is_closed {
            self.set_stray(id);
        }
        is_closed
    }

    /// Does what [`set`](Self::set) does on each of `nodes`.
    pub(crate) fn set_on(owner: &O, nodes: impl Iterator<Item = Node>, id: ShrinkerId) {
        // ORDERING: As in `set`, for all of them.
        smp_mb(Full);

        let guard = rcu::read_lock();
        let mut finder = Table::finder(owner.map().table.read(&guard).get());
        for map in nodes.map(|node| owner.map_on(node)) {
            match finder.find(map.key(id)) {
                Some(unit) => map.set_in(unit, id, &guard),
                None => {
                    map.set(id);
                }
            }
        }
    }

    /// Does what [`set`](Self::set) does where there is a unit, for who has executed a full barrier
    /// after the object was made visible, and holds RCU. Returns false if there is none.
    ///
    /// For each object that comes to an empty list: most find all of it set, which takes no stack.
    #[inline(always)]
    pub(crate) fn set_after_mb(&self, id: ShrinkerId, guard: &Guard) -> bool {
        let Some(unit) = self.unit(id, guard) else {
            return false;
        };
        self.set_in(unit, id, guard);
        true
    }

    #[inline(always)]
    fn set_in(&self, unit: &Unit, id: ShrinkerId, guard: &Guard) {
        if !(unit.bits().contains(id.offset()) && self.is_found(id)) {
            Self::set_and_list(self.owner, self.node, unit, id, guard);
        }
    }

    /// Returns whether walks find the unit of `id`. Orders nothing: who sets the bit in that gets
    /// to the rest.
    fn is_found(&self, id: ShrinkerId) -> bool {
        self.is_pending(id)
            && self
                .owner
                .listed_id()
                .is_none_or(|memcg_id| self.owner.bitmap(self.node).contains(memcg_id))
    }

    /// Sets the bit in the unit, and in the summary, and lists the memcg.
    ///
    /// Not with `&self`, for which each caller would have to write a map to memory.
    #[inline(never)]
    fn set_and_list(owner: &O, node: Node, unit: &Unit, id: ShrinkerId, guard: &Guard) {
        // ORDERING: Fully ordered before the summary is read: pairs with the barrier in `settle`.
        unit.set(id.offset());
        owner
            .map_on(node)
            .set_unit_summary(id.index() % AtomicBits::LEN, guard);
    }

    /// Sets a bit of the summary, and lists the memcg.
    #[inline(always)]
    fn set_unit_summary(&self, bit: u32, guard: &Guard) {
        if !self.node_summary.unit_summary.test(bit) {
            // ORDERING: Fully ordered before the bit of the memcg is read; pairs with `unlist_id`.
            self.node_summary.unit_summary.set(bit);
        }
        self.list(guard);
    }

    /// Returns whether the map says that there is nothing to shrink.
    pub(crate) fn is_idle(&self) -> bool {
        self.node_summary.unit_summary.load().is_empty()
            && self.node_summary.strays.load().is_empty()
    }

    /// Notes that the shrinker with `id` has no object.
    ///
    /// The caller must then count once more, and [`set`](Self::set) the bit again if the shrinker
    /// is not empty any more. Does not sleep.
    pub(crate) fn clear(&self, id: ShrinkerId) {
        // ORDERING: Fully ordered before the caller counts again; pairs with the barrier in `set`,
        // or in set_shrinker_bit().
        self.with_unit(id, |unit| unit.clear(id.offset()));
    }

    /// Brings the summary up to date after bits of the unit with `index` were cleared.
    ///
    /// Does not sleep.
    pub(crate) fn settle(&self, index: u32) {
        let bit = index % AtomicBits::LEN;

        if !self.has_bits(bit) {
            // ORDERING: Fully ordered before the units are read again, which begins with the table
            // because a unit may have been installed; pairs with the barrier in `set_and_list`.
            self.node_summary.unit_summary.clear(bit);
            if self.has_bits(bit) {
                self.set_unit_summary(bit, &rcu::read_lock());
            }
        }
    }

    /// Returns whether a unit that `bit` of the summary stands for has a bit set.
    fn has_bits(&self, bit: u32) -> bool {
        let guard = rcu::read_lock();

        self.table().read(&guard).get().is_some_and(|table| {
            table
                .on_node(self.node, 0)
                .any(|(index, unit)| index % AtomicBits::LEN == bit && !unit.bits().is_empty())
        })
    }

    /// Finds the next unit that may have bits, with an index of `start` or higher.
    pub(crate) fn next_pending(&self, start: u32) -> Option<Pending> {
        let summary = self.node_summary.unit_summary.load();
        if summary.is_empty() {
            return None;
        }
        let guard = rcu::read_lock();
        let table = self.table().read(&guard).get()?;
        let mut units = table
            .on_node(self.node, start)
            .filter(|(index, _)| summary.contains(index % AtomicBits::LEN));
        let (index, unit) = units.next()?;

        Some(Pending {
            index,
            bits: unit.bits(),
            next: units.next().map(|(index, _)| index),
        })
    }

    /// Makes the next walk ask the shrinkers whose ids have the offset of `id`.
    pub(crate) fn set_stray(&self, id: ShrinkerId) {
        // ORDERING: As in `set_unit_summary`.
        self.node_summary.strays.set(id.offset());
        self.list(&rcu::read_lock());
    }

    /// Takes back for which offsets a walk must ask all shrinkers, and returns them. Whoever finds
    /// one that is not empty must [`set`](Self::set) it.
    pub(crate) fn take_strays(&self) -> Bits {
        let strays = self.node_summary.strays.load();

        for offset in strays {
            // ORDERING: Fully ordered before the objects are counted, as in `clear`.
            self.node_summary.strays.clear(offset);
        }
        strays
    }

    /// Returns whether the next walk asks the shrinker with `id` though it has no unit.
    pub(crate) fn is_stray(&self, id: ShrinkerId) -> bool {
        self.node_summary.strays.test(id.offset())
    }

    /// Takes the work that the shrinker with `id` left over.
    pub(crate) fn take_deferred(&self, id: ShrinkerId) -> isize {
        self.with_unit(id, |unit| unit.take_deferred(id.offset()))
    }

    /// Adds to the work that the shrinker with `id` left over, and returns the sum.
    ///
    /// If there is no unit, or the map was closed meanwhile, returns the work that another memcg
    /// must take over as an error.
    #[inline(always)]
    pub(crate) fn add_deferred(&self, id: ShrinkerId, nr: isize) -> Result<isize, isize> {
        let guard = rcu::read_lock();
        let seen = self.table().read(&guard);
        let unit = seen
            .get()
            .and_then(|table| table.get(self.key(id)))
            .ok_or(nr)?;

        // ORDERING: Fully ordered before the map is read again; pairs with `Map::close`, which
        // closes the map before it reads the counters. So either it finds the work there, or it is
        // taken out again here. Both may happen, but `take_deferred` gives it to only one.
        let sum = unit.add_deferred(id.offset(), nr);
        if self.table().read(&guard).is_closed() {
            return Err(unit.take_deferred(id.offset()));
        }
        Ok(sum)
    }

    /// Returns whether there is a unit for `id`.
    pub(crate) fn is_installed(&self, id: ShrinkerId) -> bool {
        self.with_unit(id, |_| true)
    }

    /// Returns whether the bit of `id` is set.
    pub(crate) fn is_set(&self, id: ShrinkerId) -> bool {
        self.with_unit(id, |unit| unit.bits().contains(id.offset()))
    }

    /// Returns whether the summary says that the unit of `id` may have a bit set.
    pub(crate) fn is_pending(&self, id: ShrinkerId) -> bool {
        self.node_summary
            .unit_summary
            .test(id.index() % AtomicBits::LEN)
    }

    /// Returns the units of the node and their indices, by ascending index.
    #[cfg(CONFIG_DEBUG_FS)]
    pub(crate) fn units<'g>(&self, guard: &'g Guard) -> impl Iterator<Item = (u32, &'g Unit)> {
        let (table, node) = (self.table().read(guard).get(), self.node);

        table
            .into_iter()
            .flat_map(move |table| table.on_node(node, 0))
    }

    /// Reads the work that the shrinker with `id` left over.
    #[cfg(CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST)]
    pub(crate) fn nr_deferred(&self, id: ShrinkerId) -> isize {
        self.with_unit(id, |unit| unit.nr_deferred(id.offset()))
    }

    /// Lists the memcg. The caller has just made it not idle.
    ///
    /// Does not sleep; interrupts may be off.
    #[inline(always)]
    pub(crate) fn list(&self, guard: &Guard) {
        if let Some(id) = self.owner.listed_id() {
            // ORDERING: Fully ordered before the map is read; pairs with `Map::close`, after which
            // `unlist` reads the bit.
            if !self.owner.bitmap(self.node).set(id) {
                return;
            }
            if self.table().read(guard).is_closed() {
                // By now the memcg may have given its id back.
                Self::unlist_closed(self.owner, self.node, id);
            } else {
                self.owner.note_listed(self.node);
            }
        }
    }

    /// Takes the memcg off the list again. Not with `&self`, as in `set_and_list`.
    #[cold]
    #[inline(never)]
    fn unlist_closed(owner: &O, node: Node, id: MemcgId) {
        owner.map_on(node).unlist_id(id);
    }

    /// Takes the memcg off the list if there is nothing to shrink any more. Does not sleep.
    pub(crate) fn unlist_if_idle(&self) {
        if self.is_idle() {
            self.unlist();
        }
    }

    /// Takes the memcg off the list, unless it is neither idle nor closed. Does not sleep.
    pub(crate) fn unlist(&self) {
        if let Some(id) = self.owner.listed_id() {
            if self.owner.bitmap(self.node).contains(id) {
                self.unlist_id(id);
            }
        }
    }

    /// Takes an id off the list, unless the memcg that has it by now needs to be there.
    ///
    /// Does not sleep.
    pub(crate) fn unlist_id(&self, id: MemcgId) {
        let bitmap = self.owner.bitmap(self.node);

        // A memcg that went offline meanwhile may have given its id to another one, which may have
        // set the bit before it is cleared here.
        let guard = rcu::read_lock();
        let is_needed = || {
            self.owner
                .with_id(id, &guard)
                .is_some_and(|owner| owner.map_on(self.node).must_be_listed())
        };

        loop {
            // ORDERING: Fully ordered before the memcg is looked at again; pairs with the barriers
            // between the summary of a memcg and its bit in `set_unit_summary` and `set_stray`.
            bitmap.clear(id);
            if !is_needed() {
                return;
            }
            // ORDERING: As in `list`.
            bitmap.set(id);
            if is_needed() {
                return;
            }
        }
    }

    /// Returns whether a walk of all memcgs must visit this one.
    pub(crate) fn must_be_listed(&self) -> bool {
        !self.is_idle() && !self.owner.map().is_closed()
    }

    /// Returns whether it does.
    pub(crate) fn is_listed(&self) -> bool {
        self.owner
            .listed_id()
            .is_some_and(|id| self.owner.bitmap(self.node).contains(id))
    }
}
