// SPDX-License-Identifier: GPL-2.0

//! Memcgs by their private ids.
//!
//! What a walk finds in a [`memcg_bitmap`](crate::memcg_bitmap) is an id. C gives out the lowest
//! that is free, so that a table in pieces, which stay, costs eight bytes for each memcg there ever
//! was at a time, and finding one takes two loads, the second of which depends on the first: an
//! xarray takes a walk of its levels.

use kernel::{
    alloc::Flags,
    prelude::*,
    sync::rcu::{
        self,
        Guard,
        RcuFreed,
        RcuRef, //
    }, //
};
use pin_init::init_array_from_fn;

use crate::memcg_bitmap::MemcgId;

/// As many as there are pointers in a page of 4 KiB.
const PIECE_LEN: usize = 512;
const NR_PIECES: usize = MemcgId::NR.div_ceil(PIECE_LEN);

/// The memcgs whose ids are the same but for the last nine bits.
type Piece<M> = [RcuRef<M>; PIECE_LEN];

/// Memcgs by id. Look-ups need RCU only.
pub(crate) struct MemcgTable<M: Sync + 'static> {
    /// Once there, a piece stays.
    pieces: [RcuRef<Piece<M>>; NR_PIECES],
}

impl<M: Sync + 'static> MemcgTable<M> {
    /// Creates an empty table.
    pub(crate) const fn new() -> Self {
        Self {
            pieces: [const { RcuRef::new() }; NR_PIECES],
        }
    }

    fn piece(&self, id: MemcgId) -> &RcuRef<Piece<M>> {
        // By the type invariants of `MemcgId`, there is such a piece.
        &self.pieces[usize::from(id.as_raw()) / PIECE_LEN]
    }

    #[inline]
    fn place<'g>(&self, id: MemcgId, guard: &'g Guard) -> Option<&'g RcuRef<M>> {
        self.piece(id)
            .get(guard)?
            .get(usize::from(id.as_raw()) % PIECE_LEN)
    }

    /// Finds the memcg that has `id`, if it is there.
    #[inline]
    pub(crate) fn get<'g>(&self, id: MemcgId, guard: &'g Guard) -> Option<&'g M> {
        self.place(id, guard)?.get(guard)
    }

    /// Makes room for `id`. May sleep if `flags` allow it. Returns `ENOMEM` if memory is short.
    ///
    /// Of two calls at a time with ids that share a piece, what the first one puts there may be
    /// lost: callers hold `cgroup_mutex`.
    pub(crate) fn reserve(&self, id: MemcgId, flags: Flags) -> Result {
        if self.place(id, &rcu::read_lock()).is_none() {
            let piece = KBox::init(init_array_from_fn(|_| RcuRef::new()), flags)?;

            self.piece(id).set(Some((&*KBox::leak(piece)).into()));
        }
        Ok(())
    }

    /// Lets look-ups of `id`, for which there is room, find `memcg`. Does not sleep.
    pub(crate) fn insert(&self, id: MemcgId, memcg: RcuFreed<M>) {
        if let Some(place) = self.place(id, &rcu::read_lock()) {
            place.set(Some(memcg));
        }
    }

    /// Lets look-ups of `id` find nothing. Does not sleep.
    ///
    /// Those that began before may still use the memcg until a grace period has passed.
    pub(crate) fn remove(&self, id: MemcgId) {
        if let Some(place) = self.place(id, &rcu::read_lock()) {
            place.set(None);
        }
    }
}
