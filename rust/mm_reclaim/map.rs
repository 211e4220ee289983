// SPDX-License-Identifier: GPL-2.0

//! The map of one memcg: which shrinkers may have objects of it, per node.
//!
//! Owns the [`Map`], which belongs to a memcg and lists its installed units on all nodes: it
//! installs them, and frees them when the memcg goes offline. What is done with units on one node
//! is in [`on_node`].
//!
//! The comments name four protocols; the diagrams are in Documentation/mm/mm_reclaim.rst.
//!
//! - *Set against clear*: whoever sets a bit makes the object visible first, whoever clears a bit
//!   counts objects afterwards, and a full barrier lies between on either side. So either the
//!   setter's bit comes after the clear, or the count sees the object. It is applied three times:
//!   to a bit in a unit and the objects, to a bit in the summary and the units, and to the bit of a
//!   memcg in a [`memcg_bitmap`](crate::memcg_bitmap) and the memcg's summary.
//! - *Install before set*: the unit is published before an object can exist.
//! - *Grow against install*: every install replaces the whole table, by `cmpxchg`.
//! - *Walk against free*: units are used only under an RCU guard.

use core::{
    ops::RangeInclusive,
    slice, //
};
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
    layout::mirrors,
    shrinker_id::ShrinkerId,
    sys::{
        self,
        Node,
        SharedUnit,
        VmEvent, //
    },
    table::{
        Entry,
        Key,
        Table, //
    },
    unit::Unit, //
};

pub(crate) mod on_node;

/// What became of a map in which units were installed.
#[derive(Clone, Copy)]
pub(crate) struct Growth {
    /// By how many bytes it has grown.
    pub(crate) bytes: isize,
    /// How many units it has now.
    pub(crate) nr_units: usize,
}

/// Iterates over the units with `indices` on each of `nodes`, in ascending order if these are.
///
/// Not of adapters: in the names of symbols their types are longer than kallsyms allows.
struct Wanted<N> {
    nodes: N,
    indices: RangeInclusive<u32>,
    /// A node, and which indices are left there.
    on: Option<(Node, RangeInclusive<u32>)>,
}

impl<N: Iterator<Item = Node>> Iterator for Wanted<N> {
    type Item = Key;

    fn next(&mut self) -> Option<Key> {
        loop {
            if let Some((node, left)) = &mut self.on {
                if let Some(index) = left.next() {
                    return Some(Key { node: *node, index });
                }
            }
            self.on = Some((self.nodes.next()?, self.indices.clone()));
        }
    }
}

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

    /// Returns whether the unit with index `index` is on all nodes that `nodes` returns, in
    /// ascending order. If the map is closed, it is on none.
    pub(crate) fn has<N: Iterator<Item = Node>>(&self, index: u32, nodes: impl Fn() -> N) -> bool {
        let missing = self.missing(|| nodes().map(|node| Key { node, index }));

        // Nothing is missing in a map that is closed.
        missing.is_none() && !self.is_closed()
    }

    /// Installs the units with `indices` on each of the nodes that `nodes` returns, in ascending
    /// order: all of them in one step, or on failure none.
    ///
    /// Nodes may be added meanwhile: whoever adds one must call this again afterwards. Does nothing
    /// where the units are there already, or if the map is closed: the memcg is dying then, and the
    /// caller will find so itself. Calls `grew` when the map has grown, which must not sleep. May
    /// sleep itself if `flags` allow it. Returns `ENOMEM` if memory is short.
    pub(crate) fn install<N: Iterator<Item = Node>>(
        &self,
        indices: RangeInclusive<u32>,
        nodes: impl Fn() -> N,
        flags: Flags,
        grew: impl FnMut(Growth),
    ) -> Result {
        let wanted = || Wanted {
            nodes: nodes(),
            indices: indices.clone(),
            on: None,
        };

        self.install_missing(wanted, flags, grew)
    }

    /// Installs on a node those of the units on [`Node::home`] whose index `wanted` accepts: all of
    /// them in one step, or on failure none.
    ///
    /// As [`install`](Self::install). Sleeps.
    pub(crate) fn extend(
        &self,
        node: Node,
        wanted: impl Fn(u32) -> bool,
        flags: Flags,
        grew: impl FnMut(Growth),
    ) -> Result {
        let units = || {
            self.indices_at_home()
                .filter(|&index| wanted(index))
                .map(|index| Key { node, index })
        };

        self.install_missing(units, flags, grew)
    }

    /// Iterates over the indices of the units on [`Node::home`], in ascending order.
    fn indices_at_home(&self) -> impl Iterator<Item = u32> + '_ {
        let mut start = 0u32;

        core::iter::from_fn(move || {
            let guard = rcu::read_lock();
            let table = self.table.read(&guard).get()?;
            let (index, _) = table.on_node(Node::home(), start).next()?;

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
        mut grew: impl FnMut(Growth),
    ) -> Result {
        let allocate = |key: Key| -> Result<Entry> {
            let unit = SharedUnit::alloc(flags, key.node)?;
            Ok(Entry { key, unit })
        };

        while let Some((first, nr)) = self.missing(&wanted) {
            // Mostly one, on the node of an object: it needs no list.
            let single;
            let mut list;
            let units = if nr == 1 {
                single = allocate(first)?;
                slice::from_ref(&single)
            } else {
                list = sys::vec_with_capacity(nr, flags)?;
                for key in wanted() {
                    // There may be more of them by now: these come in the next round.
                    if list.len() < nr && !self.is_installed(key) {
                        list.push_within_capacity(allocate(key)?)
                            .map_err(|_| ENOMEM)?;
                    }
                }
                &list
            };

            // ORDERING: Fully ordered, if it succeeds, before the nodes are read again; pairs with
            // the addition of a node, after which the tables are read. So either the new node is
            // seen here, or the new units are seen there. If it fails, this begins anew.
            self.publish(units, flags, &mut grew)?;
        }
        Ok(())
    }

    /// Returns the first one of the units that `wanted` returns, in ascending order, that is not
    /// there, and how many these are; nothing if all are there, or never will be.
    fn missing<K: Iterator<Item = Key>>(&self, wanted: impl Fn() -> K) -> Option<(Key, usize)> {
        let guard = rcu::read_lock();
        let seen = self.table.read(&guard);
        if seen.is_closed() {
            return None;
        }
        // ORDERING: The nodes are read after the table, as whoever has published that may not have
        // looked for another node yet; pairs with the addition of a node, after which the tables
        // are read.
        smp_mb(Full);
        let mut finder = Table::finder(seen.get());
        let mut first = None;
        let mut nr = 0usize;

        for key in wanted() {
            if finder.find(key).is_none() {
                first = first.or(Some(key));
                nr = nr.saturating_add(1);
            }
        }
        first.map(|key| (key, nr))
    }

    /// Returns whether the unit is there, or never will be.
    fn is_installed(&self, key: Key) -> bool {
        let guard = rcu::read_lock();
        let seen = self.table.read(&guard);

        seen.is_closed() || seen.get().is_some_and(|table| table.get(key).is_some())
    }

    /// Replaces the table with one that has `units` too, except for those that somebody else
    /// installed meanwhile. Does nothing if somebody else was faster.
    fn publish(&self, units: &[Entry], flags: Flags, grew: &mut impl FnMut(Growth)) -> Result {
        // Allocating may sleep, which the guard forbids: so the size of the table is only a guess.
        let capacity = self.nr_units().saturating_add(units.len());
        // Declared before the guard, and so dropped after it: freeing may sleep, too.
        let mut new = RcuBox::new(Table::with_capacity(capacity, flags)?, flags)?;

        let guard = rcu::read_lock();
        let seen = self.table.read(&guard);
        let old = seen.get().map_or(&[][..], |table| table.entries());

        // If it has too little room, somebody else has installed a unit.
        if new.merge(old, units).is_err() {
            return Ok(());
        }
        let (nr_old, nr_new) = (old.len(), new.entries().len());
        if nr_new == nr_old {
            return Ok(());
        }
        let bytes_old = seen.get().map_or(0, Table::bytes_with_units);
        let growth = Growth {
            // A table may have been given more room than it needs, and the next one less.
            bytes: new.bytes_with_units().wrapping_sub(bytes_old) as isize,
            nr_units: nr_new,
        };

        // Fails if the map is closed, too.
        let replaced = self.table.replace(&seen, new);
        // On failure the new table comes back, which must not be freed under the guard.
        drop(guard);
        if replaced.is_ok() {
            let kind = if nr_old == 0 {
                VmEvent::MapOpen
            } else {
                VmEvent::TableGrow
            };

            sys::count(kind, 1);
            sys::count(VmEvent::UnitInstall, nr_new.saturating_sub(nr_old));
            grew(growth);
        }
        Ok(())
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

    /// Returns what the map takes.
    #[cfg(CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST)]
    pub(crate) fn bytes(&self) -> usize {
        let guard = rcu::read_lock();

        self.table
            .read(&guard)
            .get()
            .map_or(0, Table::bytes_with_units)
    }

    /// Closes the map: frees its units after a grace period, and lets nobody install another.
    ///
    /// Gives the deferred work of each shrinker to `pass_on`, by node. What
    /// [`add_deferred`](on_node::MapOnNode::add_deferred) adds concurrently is given either to it
    /// or back to that caller. Returns how many bytes the map had. Does not sleep.
    pub(crate) fn close(&self, mut pass_on: impl FnMut(Node, ShrinkerId, isize)) -> usize {
        // ORDERING: Fully ordered before the counters are read; pairs with
        // `MapOnNode::add_deferred`.
        let Some(table) = self.table.close() else {
            return 0;
        };
        sys::count(VmEvent::MapClose, 1);

        for Entry { key, unit } in table.entries() {
            for offset in 0..Unit::LEN {
                let nr = unit.take_deferred(offset);
                if nr != 0 {
                    pass_on(key.node, ShrinkerId::new(key.index, offset), nr);
                }
            }
        }
        table.bytes_with_units()
    }
}
