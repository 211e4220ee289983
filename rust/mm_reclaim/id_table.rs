// SPDX-License-Identifier: GPL-2.0

//! Shrinkers by their ids.
//!
//! Owns which ids are taken. The lowest free one is always given out, so that ids stay dense and 64
//! of them that exist at the same time share a unit. The shrinkers themselves are C's, which frees
//! them a grace period after they lost their ids.

use core::ptr::{
    self,
    NonNull, //
};
use kernel::{
    alloc::Flags,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed,
            Release, //
        },
        rcu::{
            self,
            Guard,
            RcuBox,
            RcuSlot, //
        }, //
    }, //
};

use crate::{
    bits::{
        self,
        AtomicBits,
        Bits, //
    },
    shrinker_id::ShrinkerId,
    unit::Unit, //
};

/// A promise about an object that C code owns.
///
/// # Invariants
///
/// The object stays valid until a grace period has passed after the last [`RcuRef`] by which
/// readers can find it was made to forget it.
pub(crate) struct RcuFreed<T>(NonNull<T>);

impl<T> RcuFreed<T> {
    /// Makes the promise for `object`.
    ///
    /// # Safety
    ///
    /// The caller must uphold the type invariants.
    pub(crate) unsafe fn new(object: NonNull<T>) -> Self {
        // INVARIANT: As the safety requirements say.
        Self(object)
    }
}

/// A pointer to an object that C code owns, read under RCU.
///
/// # Invariants
///
/// The pointer is null, or comes from a [`RcuFreed`].
#[repr(transparent)]
pub(crate) struct RcuRef<T>(Atomic<*mut T>);

// SAFETY: Gives out `&T` on any CPU, and never owns it.
unsafe impl<T: Sync> Send for RcuRef<T> {}
// SAFETY: As above.
unsafe impl<T: Sync> Sync for RcuRef<T> {}

impl<T> RcuRef<T> {
    /// Creates a pointer to nothing.
    pub(crate) const fn new() -> Self {
        // INVARIANT: The pointer is null.
        Self(Atomic::new(ptr::null_mut()))
    }

    /// Creates a pointer to what `other` points to.
    pub(crate) fn copy_of(other: &Self) -> Self {
        // INVARIANT: Null or from a `RcuFreed`, as in `other`.
        Self(Atomic::new(other.0.load(Relaxed)))
    }

    /// Reads the pointer.
    #[inline]
    pub(crate) fn get<'g>(&self, _guard: &'g Guard) -> Option<&'g T> {
        // ORDERING: Like `rcu_dereference()`, see `RcuSlot::read`.
        //
        // SAFETY: By the type invariants the pointer is null or the object is valid until a grace
        // period has passed after it was forgotten, which can't end before `'g` does.
        unsafe { self.0.load(Relaxed).as_ref() }
    }

    /// Publishes `object`, or forgets what was published.
    pub(crate) fn set(&self, object: Option<RcuFreed<T>>) {
        // ORDERING: Release, so that readers see the object initialized; pairs with the dependency
        // in `get`.
        //
        // INVARIANT: The pointer is null or comes from a `RcuFreed`.
        self.0.store(
            object.map_or(ptr::null_mut(), |lent| lent.0.as_ptr()),
            Release,
        );
    }
}

/// Room for ids.
struct Slots<T> {
    objects: KVVec<RcuRef<T>>,
    /// A bit for each id that is taken, so that a free one is found 64 at a time.
    taken: KVVec<AtomicBits>,
}

impl<T> Slots<T> {
    /// Allocates room for `len` ids. May sleep if `flags` allow it.
    fn with_capacity(len: usize, flags: Flags) -> Result<Self> {
        Ok(Self {
            objects: KVVec::with_capacity(len, flags)?,
            taken: KVVec::with_capacity(len.div_ceil(AtomicBits::LEN as usize), flags)?,
        })
    }

    /// Makes it `len` ids long, and those of `old` point to the same objects as there.
    fn fill(&mut self, old: Option<&Self>, len: usize) -> Result {
        while self.objects.len() < len {
            let object = old.and_then(|old| old.objects.get(self.objects.len()));
            self.objects
                .push_within_capacity(object.map_or(RcuRef::new(), RcuRef::copy_of))
                .map_err(|_| ENOMEM)?;
        }
        while self.taken.len() < len.div_ceil(AtomicBits::LEN as usize) {
            let word = old.and_then(|old| old.taken.get(self.taken.len()));
            self.taken
                .push_within_capacity(AtomicBits::new(word.map_or(Bits::NONE, AtomicBits::load)))
                .map_err(|_| ENOMEM)?;
        }
        Ok(())
    }

    /// Finds the lowest id from `start` on whose bit is one of those that `choose` leaves.
    fn first(&self, start: u32, choose: impl Fn(Bits) -> Bits) -> Option<ShrinkerId> {
        bits::first_from(&self.taken, start, choose).map(ShrinkerId)
    }

    /// Makes `id` point to `object`, or frees it.
    fn set(&self, id: ShrinkerId, object: Option<RcuFreed<T>>) {
        if let (Some(slot), Some(word)) = (
            self.objects.get(id.0 as usize),
            self.taken.get(id.index() as usize),
        ) {
            if object.is_some() {
                word.set(id.offset());
            } else {
                word.clear(id.offset());
            }
            slot.set(object);
        }
    }
}

/// Objects of C by id.
///
/// Look-ups need RCU only. Ids are given and taken back by the [`Writer`] of the table, of which
/// there is one at a time: a table that grows is copied, and what another writer removes meanwhile
/// would be found in the copy when it is freed long since.
pub(crate) struct IdTable<T: Sync + 'static> {
    slots: RcuSlot<Slots<T>>,
    /// No id below this one is free.
    lowest: Atomic<u32>,
    /// Number of ids that may be given out.
    limit: u32,
}

impl<T: Sync + 'static> IdTable<T> {
    /// Creates an empty table for ids below `limit`.
    pub(crate) const fn new(limit: u32) -> Self {
        Self {
            slots: RcuSlot::new(),
            lowest: Atomic::new(0),
            limit,
        }
    }

    fn with_slots<R>(&self, f: impl FnOnce(&Slots<T>) -> R) -> Option<R> {
        let guard = rcu::read_lock();

        self.slots.read(&guard).get().map(f)
    }

    /// Finds the object that has `id`.
    #[inline]
    pub(crate) fn get<'g>(&self, id: ShrinkerId, guard: &'g Guard) -> Option<&'g T> {
        self.slots
            .read(guard)
            .get()
            .and_then(|slots| slots.objects.get(id.0 as usize))
            .and_then(|slot| slot.get(guard))
    }

    /// Returns the lowest id that is taken and not below `start`.
    fn next(&self, start: u32) -> Option<ShrinkerId> {
        self.with_slots(|slots| slots.first(start, |taken| taken))
            .flatten()
    }

    /// Iterates over the taken ids, lowest first. Ids that are taken or freed meanwhile may be
    /// seen or not. No lock is held between two of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ShrinkerId> + '_ {
        let mut start = 0;

        core::iter::from_fn(move || {
            let id = self.next(start)?;
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
        let start = self.0.lowest.load(Relaxed);

        let (free, len) = self
            .0
            .with_slots(|slots| {
                let free = slots.first(start, Bits::complement);
                (free, slots.objects.len() as u32)
            })
            .unwrap_or((None, 0));
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
        let mut new = RcuBox::new(Slots::with_capacity(len, flags)?, flags)?;

        let guard = rcu::read_lock();
        let seen = self.0.slots.read(&guard);
        new.fill(seen.get(), len)?;

        let replaced = self.0.slots.replace(&seen, new);
        // What would come back must not be freed under the guard: that may sleep.
        drop(guard);

        // Never fails, as only the writer replaces them.
        replaced.map_err(|_| EBUSY)?;
        Ok(())
    }

    /// Gives `object` the id that [`find_free`](Self::find_free) found. Does not sleep.
    pub(crate) fn insert(&mut self, id: ShrinkerId, object: RcuFreed<T>) {
        self.0.with_slots(|slots| slots.set(id, Some(object)));
    }

    /// Frees `id`. Does not sleep.
    ///
    /// Look-ups that began before may still use the object until a grace period has passed.
    pub(crate) fn remove(&mut self, id: ShrinkerId) {
        self.0.with_slots(|slots| slots.set(id, None));
        self.0
            .lowest
            .store(self.0.lowest.load(Relaxed).min(id.0), Relaxed);
    }
}
