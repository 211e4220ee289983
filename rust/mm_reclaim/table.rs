// SPDX-License-Identifier: GPL-2.0

//! The table that lists the units of one memcg.
//!
//! Owns their order, by which one is found. A table never changes; a longer one takes its place.

use kernel::{
    alloc::{
        AllocError,
        Flags, //
    },
    prelude::*,
    sync::{
        aref::ARef,
        rcu::RcuBox, //
    }, //
};

use crate::{
    sys::{
        self,
        Node,
        SharedUnit,
        VmEvent, //
    },
    unit::Unit, //
};

/// Where a unit stands in a table: sorted by node, then by index.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) index: u32,
    pub(crate) node: Node,
}

impl Key {
    /// Returns the number by which keys are sorted.
    fn rank(self) -> u64 {
        (u64::from(self.node.as_raw() as u32) << 32) | u64::from(self.index)
    }
}

/// A unit, and where it stands.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) key: Key,
    pub(crate) unit: ARef<SharedUnit>,
}

/// Returns where the entry at `key` is among sorted ones.
#[inline]
fn find(entries: &[Entry], key: Key) -> Option<usize> {
    entries
        .binary_search_by_key(&key.rank(), |e| e.key.rank())
        .ok()
}

/// Room for the entries of a table.
enum Room {
    /// For one, in the table itself: that is all of it for most memcgs.
    One(Option<Entry>),
    /// For as many as were asked for.
    Many(KVVec<Entry>),
}

impl Room {
    fn with_capacity(capacity: usize, flags: Flags) -> Result<Self, AllocError> {
        if capacity <= 1 {
            return Ok(Self::One(None));
        }
        Ok(Self::Many(sys::vec_with_capacity(capacity, flags)?))
    }

    /// Returns how many entries have room beside the table.
    fn nr_beside(&self) -> usize {
        match self {
            Self::One(_) => 0,
            Self::Many(entries) => entries.capacity(),
        }
    }

    #[inline]
    fn entries(&self) -> &[Entry] {
        match self {
            Self::One(entry) => entry.as_slice(),
            Self::Many(entries) => entries,
        }
    }

    #[inline]
    fn get(&self, key: Key) -> Option<&Entry> {
        match self {
            // Not as a slice: what most memcgs have takes a look at the pointer and the key.
            Self::One(entry) => entry.as_ref().filter(|e| e.key == key),
            // Mostly a unit on each of two nodes, or two on one node: these need no search.
            Self::Many(entries) => match (entries.first()?, entries.last()?) {
                (first, _) if first.key == key => Some(first),
                (_, last) if last.key == key => Some(last),
                _ => entries.get(find(entries, key)?),
            },
        }
    }

    /// Fails if there is no room left.
    fn push(&mut self, entry: Entry) -> Result {
        match self {
            Self::One(room @ None) => *room = Some(entry),
            Self::One(Some(_)) => return Err(ENOMEM),
            Self::Many(entries) => entries.push_within_capacity(entry).map_err(|_| ENOMEM)?,
        }
        Ok(())
    }
}

/// The installed units of a memcg. Never changes once it is published.
///
/// # Invariants
///
/// Entries are sorted by key, and no two have the same one.
pub(crate) struct Table {
    room: Room,
}

impl Drop for Table {
    fn drop(&mut self) {
        sys::count(VmEvent::TableFree, 1);
        sys::count(VmEvent::TableBytesFree, self.bytes());
    }
}

impl Table {
    /// Creates an empty table with room for `capacity` units.
    ///
    /// May sleep if `flags` allow it; then dropping the table may, too, except in an RCU callback.
    /// If they don't, a table of more than a page is refused.
    pub(crate) fn with_capacity(capacity: usize, flags: Flags) -> Result<Self, AllocError> {
        // INVARIANT: There are no entries.
        let table = Self {
            room: Room::with_capacity(capacity, flags)?,
        };
        sys::count(VmEvent::TableAlloc, 1);
        sys::count(VmEvent::TableBytesAlloc, table.bytes());
        Ok(table)
    }

    fn bytes(&self) -> usize {
        let beside = self.room.nr_beside().saturating_mul(size_of::<Entry>());

        beside.saturating_add(size_of::<RcuBox<Self>>())
    }

    /// Returns what the table takes, with the units that it lists.
    pub(crate) fn bytes_with_units(&self) -> usize {
        let units = self.entries().len().saturating_mul(size_of::<SharedUnit>());

        self.bytes().saturating_add(units)
    }

    /// Returns the entries, sorted.
    #[inline]
    pub(crate) fn entries(&self) -> &[Entry] {
        self.room.entries()
    }

    /// Returns the unit at `key`.
    #[inline]
    pub(crate) fn get(&self, key: Key) -> Option<&Unit> {
        self.room.get(key).map(|e| &**e.unit)
    }

    /// Returns who looks for one key after the other; without a table, there are none.
    pub(crate) fn finder(table: Option<&Self>) -> Finder<'_> {
        Finder {
            entries: table.map_or(&[], Self::entries),
            at: 0,
            stride: 0,
        }
    }

    /// The units of `node` from index `start` on, with their indices.
    pub(crate) fn on_node(&self, node: Node, start: u32) -> impl Iterator<Item = (u32, &Unit)> {
        let start = Key { node, index: start }.rank();
        let entries = self.entries();
        // Mostly the first one, which needs no search.
        let at = match entries.first() {
            Some(first) if first.key.rank() >= start => 0,
            _ => entries.partition_point(|e| e.key.rank() < start),
        };

        entries
            .get(at..)
            .unwrap_or_default()
            .iter()
            .take_while(move |e| e.key.node == node)
            .map(|e| (e.key.index, &**e.unit))
    }

    /// Fills an empty table with `old` and `new`, both sorted. Of two entries with the same key,
    /// takes the old one.
    ///
    /// Does not allocate. Fails if there is too little room.
    pub(crate) fn merge(&mut self, old: &[Entry], new: &[Entry]) -> Result {
        let mut old = old.iter().peekable();

        // INVARIANT: Merges two sorted sequences, and takes each key once.
        for entry in new {
            let rank = entry.key.rank();

            while let Some(before) = old.next_if(|e| e.key.rank() < rank) {
                self.push(before)?;
            }
            if old.peek().is_none_or(|e| e.key != entry.key) {
                self.push(entry)?;
            }
        }
        old.try_for_each(|e| self.push(e))
    }

    fn push(&mut self, entry: &Entry) -> Result {
        self.room.push(entry.clone())
    }
}

/// Looks for units, mostly with the same index on one node after the other.
///
/// Where all nodes have the same units, as of the root, the next one is as far away as this one.
pub(crate) struct Finder<'a> {
    entries: &'a [Entry],
    /// Where the last one was found, and how far that was from the one before.
    at: usize,
    stride: usize,
}

impl<'a> Finder<'a> {
    /// Returns the unit at `key`.
    #[inline]
    pub(crate) fn find(&mut self, key: Key) -> Option<&'a Unit> {
        let guess = self.at.wrapping_add(self.stride);

        match self.entries.get(guess) {
            Some(entry) if entry.key == key => {
                self.at = guess;
                Some(&entry.unit)
            }
            _ => self.search(key),
        }
    }

    fn search(&mut self, key: Key) -> Option<&'a Unit> {
        let at = find(self.entries, key)?;

        self.stride = at.wrapping_sub(self.at);
        self.at = at;
        self.entries.get(at).map(|e| &**e.unit)
    }
}
