// SPDX-License-Identifier: GPL-2.0

//! The map of one memcg: which shrinkers may have objects of it, per node.
//!
//! A [`Map`] belongs to a memcg and lists its installed units; a [`NodeSummary`] belongs to a memcg
//! and node and summarizes the units of that node; a [`MapOnNode`] is a memcg's map as seen from
//! one node.
//!
//! The comments name four protocols; the diagrams are in Documentation/mm/mm_reclaim.rst.
//!
//! - *Set against clear*: whoever sets a bit makes the object visible first, whoever clears a bit
//!   counts objects afterwards, and a full barrier lies between on either side. So either the
//!   setter's bit comes after the clear, or the count sees the object. It is applied three times:
//!   to a bit in a unit and the objects, to a bit in the summary and the units, and (in
//!   [`memcg_bitmap`](crate::memcg_bitmap)) to the bit of a memcg and its summary.
//! - *Install before set*: the unit is published before an object can exist.
//! - *Grow against install*: every install replaces the whole table, by `cmpxchg`.
//! - *Walk against free*: units are used only under an RCU guard.

use core::slice;
use kernel::{
    alloc::Flags,
    prelude::*,
    sync::{
        barrier::{
            smp_mb,
            Full, //
        },
        rcu::{
            self,
            RcuBox,
            RcuSlot, //
        }, //
    }, //
};

use crate::{
    bits::{
        AtomicBits,
        Bits, //
    },
    context,
    layout::mirrors,
    memcg_bitmap::{
        HasMemcgId,
        MemcgBitmap, //
    },
    node::Node,
    shrinker_id::ShrinkerId,
    stat::{
        self,
        Stat, //
    },
    table::{
        Entry,
        Key,
        Table, //
    },
    unit::Unit, //
};

/// The units of one memcg, on all nodes.
///
/// Part of `struct mem_cgroup`, as `struct shrinker_map`. Open at first; closed when the memcg goes
/// offline, and then without units for ever.
#[repr(transparent)]
pub(crate) struct Map {
    table: RcuSlot<Table>,
}

mirrors!(Map is kernel::bindings::shrinker_map { table: table });

impl Map {
    /// Creates an open map, as it is in zeroed memory.
    #[cfg(CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST)]
    pub(crate) const fn new() -> Self {
        Self {
            table: RcuSlot::new(),
        }
    }

    /// Installs the unit with index `index` on each of the nodes that `nodes` returns, in ascending
    /// order: on all of them in one step, or on failure on none.
    ///
    /// Nodes may be added meanwhile: whoever adds one must call this again afterwards. Does nothing
    /// where the units are there already, or if the map is closed: the memcg is dying then, and the
    /// caller will find so itself. May sleep if `flags` allow it. Returns `ENOMEM` if memory is
    /// short.
    pub(crate) fn install<N: Iterator<Item = Node>>(
        &self,
        index: u32,
        nodes: impl Fn() -> N,
        flags: Flags,
    ) -> Result {
        self.install_missing(|| nodes().map(|node| Key { node, index }), flags)
    }

    /// Installs on each of the nodes that `nodes` returns, in ascending order, the units that there
    /// are on any other: all of them in one step, or on failure none.
    ///
    /// As [`install`](Self::install), for many units at once. Sleeps.
    pub(crate) fn extend<N: Iterator<Item = Node>>(
        &self,
        nodes: impl Fn() -> N,
        flags: Flags,
    ) -> Result {
        let wanted = || {
            nodes().flat_map(move |node| {
                self.indices().map(move |index| {
                    // There may be thousands, and nobody holds the guard here.
                    context::cond_resched();
                    Key { node, index }
                })
            })
        };

        self.install_missing(wanted, flags)
    }

    /// Iterates over the indices of which any node has a unit, in ascending order.
    fn indices(&self) -> impl Iterator<Item = u32> + '_ {
        let mut start = 0u32;

        core::iter::from_fn(move || {
            let index = self.next_index(start)?;
            start = index.saturating_add(1);
            Some(index)
        })
    }

    /// Installs those of the units that `wanted` returns, in ascending order, that are not there:
    /// all of them in one step, or on failure none.
    fn install_missing<K: Iterator<Item = Key>>(
        &self,
        wanted: impl Fn() -> K,
        flags: Flags,
    ) -> Result {
        let missing = || wanted().filter(|&key| !self.is_installed(key));
        let allocate = |key: Key| -> Result<Entry> {
            let unit = Unit::alloc(flags, key.node)?;
            Ok(Entry { key, unit })
        };

        loop {
            // Not `count()`, which panics on overflow.
            let nr = missing().fold(0usize, |nr, _| nr.saturating_add(1));
            if nr == 0 {
                // ORDERING: The nodes are read again after the units were found, as whoever has
                // installed these may not have looked for another node yet; pairs with the addition
                // of a node, after which the tables are read.
                smp_mb(Full);
                if missing().next().is_none() {
                    return Ok(());
                }
                continue;
            }

            // Always one, where there is one node: it needs no list.
            let only = if nr == 1 { missing().next() } else { None };
            let single;
            let mut list;
            let units = match only {
                Some(key) => {
                    single = allocate(key)?;
                    slice::from_ref(&single)
                }
                None => {
                    list = context::vec_with_capacity(nr, flags)?;
                    for key in missing().take(nr) {
                        list.push_within_capacity(allocate(key)?)
                            .map_err(|_| ENOMEM)?;
                    }
                    &list
                }
            };

            // ORDERING: Fully ordered before the nodes are read again; pairs with the addition of a
            // node, after which the tables are read. So either the new node is seen here, or the
            // new units are seen there.
            self.publish(units, flags)?;
        }
    }

    /// Returns whether the unit is there, or never will be.
    fn is_installed(&self, key: Key) -> bool {
        let guard = rcu::read_lock();
        let seen = self.table.read(&guard);

        seen.is_closed() || seen.get().is_some_and(|table| table.get(key).is_some())
    }

    /// Replaces the table with one that has `units` too, except for those that somebody else
    /// installed meanwhile.
    fn publish(&self, units: &[Entry], flags: Flags) -> Result {
        loop {
            // Allocating may sleep, which the guard forbids: so the size of the table is only a
            // guess. If it proves too small, or another table is published first, somebody else
            // has installed a unit, and this begins anew.
            let capacity = self.nr_units().saturating_add(units.len());
            // Declared before the guard, and so dropped after it: freeing may sleep, too.
            let mut new = RcuBox::new(Table::with_capacity(capacity, flags)?, flags)?;

            let guard = rcu::read_lock();
            let seen = self.table.read(&guard);
            if seen.is_closed() {
                return Ok(());
            }
            let old = seen.get().map_or(&[][..], |table| table.entries());

            if new.merge(old, units).is_err() {
                continue;
            }
            let nr_new = new.entries().len().saturating_sub(old.len());
            if nr_new == 0 {
                return Ok(());
            }
            let kind = if old.is_empty() {
                Stat::Maps
            } else {
                Stat::Growths
            };

            let replaced = self.table.replace(&seen, new);
            // On failure the new table comes back, which must not be freed under the guard.
            drop(guard);
            if replaced.is_ok() {
                stat::add(kind, 1);
                stat::add(Stat::Installs, nr_new as isize);
                return Ok(());
            }
        }
    }

    /// Returns the lowest index from `start` on of which a node has a unit.
    fn next_index(&self, start: u32) -> Option<u32> {
        let guard = rcu::read_lock();

        self.table.read(&guard).get()?.next_index(start)
    }

    /// Returns whether the map was closed.
    pub(crate) fn is_closed(&self) -> bool {
        let guard = rcu::read_lock();

        self.table.read(&guard).is_closed()
    }

    /// Counts the units.
    pub(crate) fn nr_units(&self) -> usize {
        let guard = rcu::read_lock();

        self.table
            .read(&guard)
            .get()
            .map_or(0, |table| table.entries().len())
    }

    /// Closes the map: frees its units after a grace period, and lets nobody install another.
    ///
    /// Gives the deferred work of each shrinker to `pass_on`, by node. Whatever
    /// [`MapOnNode::add_deferred`] adds concurrently is given either to it or back to that caller.
    /// Does not sleep.
    pub(crate) fn close(&self, mut pass_on: impl FnMut(Node, ShrinkerId, isize)) {
        // ORDERING: Fully ordered before the counters are read; pairs with `MapOnNode::add_deferred`.
        let Some(table) = self.table.close() else {
            return;
        };
        stat::add(Stat::Maps, -1);

        for Entry { key, unit } in table.entries() {
            for offset in 0..Unit::LEN {
                let nr = unit.take_deferred(offset);
                if nr != 0 {
                    pass_on(key.node, ShrinkerId::new(key.index, offset), nr);
                }
            }
        }
    }
}

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
            unit_summary: AtomicBits::new(Bits::NONE),
            strays: AtomicBits::new(Bits::NONE),
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

    /// Returns the map as seen from `node`.
    #[inline]
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
    #[inline]
    fn table(&self) -> &RcuSlot<Table> {
        &self.owner.map().table
    }

    #[inline]
    fn key(&self, id: ShrinkerId) -> Key {
        Key {
            node: self.node,
            index: id.index(),
        }
    }

    /// Calls `f` with the unit of `id`, if there is one.
    #[inline]
    fn with_unit<R>(&self, id: ShrinkerId, f: impl FnOnce(&Unit) -> R) -> Option<R> {
        let guard = rcu::read_lock();

        self.table().read(&guard).get()?.get(self.key(id)).map(f)
    }

    /// Notes that the shrinker with `id` has an object. The object must be visible to its
    /// `count_objects` already.
    ///
    /// Does not sleep; may be called with interrupts off. Returns false if there is no unit for
    /// `id` though the map is open. Then the next walk asks all shrinkers whose ids have the same
    /// offset.
    pub(crate) fn set(&self, id: ShrinkerId) -> bool {
        let guard = rcu::read_lock();
        let seen = self.table().read(&guard);

        let Some(unit) = seen.get().and_then(|table| table.get(self.key(id))) else {
            if !seen.is_closed() {
                self.set_stray(id);
            }
            return seen.is_closed();
        };

        // ORDERING: Fully ordered. Before it, the caller made an object visible: pairs with the
        // barrier in `clear`. After it, the summary is read: pairs with the one in `settle`.
        unit.set(id.offset());
        self.set_unit_summary(id.index() % AtomicBits::LEN);
        true
    }

    /// Sets a bit of the summary, and lists the memcg.
    #[inline]
    fn set_unit_summary(&self, bit: u32) {
        if !self.node_summary.unit_summary.test(bit) {
            // ORDERING: Fully ordered before the bit of the memcg is read; pairs with `unlist_id`.
            self.node_summary.unit_summary.set(bit);
        }
        self.list();
    }

    /// Returns whether the map says that there is nothing to shrink.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.node_summary.unit_summary.load().is_empty()
            && self.node_summary.strays.load().is_empty()
    }

    /// Notes that the shrinker with `id` has no object.
    ///
    /// The caller must then count once more, and [`set`](Self::set) the bit again if the shrinker
    /// is not empty any more. Does not sleep.
    pub(crate) fn clear(&self, id: ShrinkerId) {
        // ORDERING: Fully ordered before the caller counts again; pairs with the barrier in `set`.
        self.with_unit(id, |unit| unit.clear(id.offset()));
    }

    /// Brings the summary up to date after bits of the unit with `index` were cleared.
    ///
    /// Does not sleep.
    pub(crate) fn settle(&self, index: u32) {
        let bit = index % AtomicBits::LEN;

        if !self.has_bits(bit) {
            // ORDERING: Fully ordered before the units are read again, which begins with the table
            // because a unit may have been installed; pairs with the barrier in `set`.
            self.node_summary.unit_summary.clear(bit);
            if self.has_bits(bit) {
                self.set_unit_summary(bit);
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
        self.list();
    }

    /// Takes back for which offsets a walk must ask all shrinkers, and returns them. Whoever finds
    /// one that is not empty must [`set`](Self::set) it.
    #[inline]
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
            .unwrap_or(0)
    }

    /// Adds to the work that the shrinker with `id` left over, and returns the sum.
    ///
    /// If there is no unit, or the map was closed meanwhile, returns the work that another memcg
    /// must take over as an error.
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
        self.with_unit(id, |_| ()).is_some()
    }

    /// Returns whether the bit of `id` is set.
    pub(crate) fn is_set(&self, id: ShrinkerId) -> bool {
        self.with_unit(id, |unit| unit.bits().contains(id.offset()))
            .unwrap_or(false)
    }

    /// Returns whether the summary says that the unit of `id` may have a bit set.
    #[cfg(CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST)]
    pub(crate) fn is_pending(&self, id: ShrinkerId) -> bool {
        self.node_summary
            .unit_summary
            .test(id.index() % AtomicBits::LEN)
    }

    /// Calls `f` with each unit of the node and its index, by ascending index. `f` must not sleep.
    #[cfg(CONFIG_DEBUG_FS)]
    pub(crate) fn for_each_unit(&self, mut f: impl FnMut(u32, &Unit)) {
        let guard = rcu::read_lock();

        if let Some(table) = self.table().read(&guard).get() {
            for (index, unit) in table.on_node(self.node, 0) {
                f(index, unit);
            }
        }
    }

    /// Reads the work that the shrinker with `id` left over.
    pub(crate) fn nr_deferred(&self, id: ShrinkerId) -> isize {
        self.with_unit(id, |unit| unit.nr_deferred(id.offset()))
            .unwrap_or(0)
    }
}
