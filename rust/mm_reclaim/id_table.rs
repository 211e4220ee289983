// SPDX-License-Identifier: GPL-2.0

//! Shrinkers by their ids.
//!
//! Owns which ids are taken. The lowest free one is always given out, so that ids stay dense and 64
//! of them that exist at the same time share a unit. The shrinkers themselves are C's, which frees
//! them a grace period after they lost their ids.

use core::ops::Deref;
use kernel::{
    alloc::Flags,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        rcu::{
            self,
            Guard,
            RcuBox,
            RcuFreed,
            RcuRef,
            RcuSlot, //
        }, //
    }, //
};

use crate::{
    shrinker_id::ShrinkerId,
    unit::Unit, //
};

/// Objects of C by id.
///
/// Look-ups need RCU only. Ids are given and taken back by the [`Writer`] of the table, of which
/// there is one at a time: a table that grows is copied, and what another writer removes meanwhile
/// would be found in the copy when it is freed long since.
pub(crate) struct IdTable<T: Sync + 'static> {
    /// The object that has each id; none if the id is free.
    objects: RcuSlot<KVVec<RcuRef<T>>>,
    /// No id below this one is free.
    lowest: Atomic<u32>,
    /// Number of ids that may be given out.
    limit: u32,
}

impl<T: Sync + 'static> IdTable<T> {
    /// Creates an empty table for ids below `limit`.
    pub(crate) const fn new(limit: u32) -> Self {
        Self {
            objects: RcuSlot::new(),
            lowest: Atomic::new(0),
            limit,
        }
    }

    /// Returns what there is room for, by id.
    fn objects<'g>(&self, guard: &'g Guard) -> &'g [RcuRef<T>] {
        self.objects.read(guard).get().map_or(&[], Deref::deref)
    }

    /// Finds the object that has `id`.
    pub(crate) fn get<'g>(&self, id: ShrinkerId, guard: &'g Guard) -> Option<&'g T> {
        self.objects(guard)
            .get(id.0 as usize)
            .and_then(|object| object.get(guard))
    }

    /// Returns the lowest id for which there is room, from `start` on, that is taken, or is not.
    fn find(&self, start: u32, is_taken: bool) -> Option<ShrinkerId> {
        let guard = rcu::read_lock();

        // Not `start..`, which panics on overflow.
        (start..u32::MAX)
            .zip(self.objects(&guard).get(start as usize..)?)
            .find(|(_, object)| object.get(&guard).is_some() == is_taken)
            .map(|(id, _)| ShrinkerId(id))
    }

    /// Iterates over the taken ids, lowest first. Ids that are taken or freed meanwhile may be
    /// seen or not. No lock is held between two of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ShrinkerId> + '_ {
        let mut start = 0;

        core::iter::from_fn(move || {
            let id = self.find(start, true)?;
            start = id.0.saturating_add(1);
            Some(id)
        })
    }
}

/// The right to give ids and to take them back.
///
/// # Invariants
///
/// There is no other writer of the same table as long as this one is in use.
pub(crate) struct Writer<'a, T: Sync + 'static>(&'a IdTable<T>);

impl<'a, T: Sync + 'static> Writer<'a, T> {
    /// Creates the writer of `table`, for whoever holds the lock that its writers take.
    ///
    /// # Safety
    ///
    /// No other writer of `table` may be used before this one is used for the last time.
    pub(crate) unsafe fn new(table: &'a IdTable<T>) -> Self {
        // INVARIANT: As the safety requirements say.
        Self(table)
    }

    /// Creates the writer of `table` where nobody else has it at all.
    #[cfg(CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST)]
    pub(crate) fn exclusive(table: &'a mut IdTable<T>) -> Self {
        // INVARIANT: Another writer would borrow `table`, too.
        Self(table)
    }

    /// Finds the lowest free id, and makes room for it, but doesn't take it.
    ///
    /// May sleep if `flags` allow it. Returns `ENOSPC` if all ids are taken, and `ENOMEM` if
    /// memory is short.
    pub(crate) fn find_free(&mut self, flags: Flags) -> Result<ShrinkerId> {
        let len = self.0.objects(&rcu::read_lock()).len() as u32;
        let free = self.0.find(self.0.lowest.load(Relaxed), false);
        let id = free.unwrap_or(ShrinkerId(len));

        if id.0 >= self.0.limit {
            return Err(ENOSPC);
        }
        if id.0 >= len {
            let len = len.saturating_mul(2).min(self.0.limit).max(Unit::LEN);
            self.grow(len as usize, flags)?;
        }
        self.0.lowest.store(id.0, Relaxed);
        Ok(id)
    }

    /// Makes the table `len` long.
    fn grow(&mut self, len: usize, flags: Flags) -> Result {
        let mut new = RcuBox::new(KVVec::with_capacity(len, flags)?, flags)?;

        let guard = rcu::read_lock();
        let old = self.0.objects(&guard);
        for at in 0..len {
            let object = old.get(at).map_or(RcuRef::new(), |old| {
                // SAFETY: Only the one writer has a pointer forget its object. As long as readers
                // may find the old table, it is here; afterwards it is the copy that forgets.
                unsafe { RcuRef::copy_of(old) }
            });
            new.push_within_capacity(object).map_err(|_| ENOMEM)?;
        }

        let replaced = self.0.objects.replace(&self.0.objects.read(&guard), new);
        // What would come back must not be freed under the guard: that may sleep.
        drop(guard);

        // Never fails, as only the writer replaces them.
        replaced.map_err(|_| EBUSY)?;
        Ok(())
    }

    /// Gives `object` the id that [`find_free`](Self::find_free) found. Does not sleep.
    pub(crate) fn insert(&mut self, id: ShrinkerId, object: RcuFreed<T>) {
        self.set(id, Some(object));
    }

    /// Frees `id`. Does not sleep.
    ///
    /// Look-ups that began before may still use the object until a grace period has passed.
    pub(crate) fn remove(&mut self, id: ShrinkerId) {
        self.set(id, None);
        self.0
            .lowest
            .store(self.0.lowest.load(Relaxed).min(id.0), Relaxed);
    }

    fn set(&mut self, id: ShrinkerId, object: Option<RcuFreed<T>>) {
        if let Some(slot) = self.0.objects(&rcu::read_lock()).get(id.0 as usize) {
            slot.set(object);
        }
    }
}
