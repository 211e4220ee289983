// SPDX-License-Identifier: GPL-2.0

//! Sets of memcgs: a bit for each private id.
//!
//! A walk of a set goes from bit to bit, so that it costs what there is to visit, and a look at
//! each word in use: neither the number of memcgs nor their depth matters. There are two sets for
//! each node, of the memcgs that may have something to shrink there and of those that may have
//! pages on its lists, and one of those in excess of their soft limits.

use core::mem::take;
use kernel::{
    bindings,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        rcu::Guard, //
    },
    warn_on, //
};

use crate::{
    bits::{
        AtomicBits,
        Bits, //
    },
    layout::mirrors, //
};

/// The private id of a memcg; see `mem_cgroup_private_id()`.
///
/// It goes back when the memcg is offline, and another may get it then.
///
/// # Invariants
///
/// Not zero, and below [`NR_IDS`]: each has a bit in a [`MemcgBitmap`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemcgId(u16);

impl MemcgId {
    /// The number of ids, with zero.
    pub(crate) const NR: usize = NR_IDS as usize;

    /// Creates the id with this number, if there is such an id.
    pub(crate) fn new(number: u32) -> Option<Self> {
        let is_id = number != 0 && number < NR_IDS;

        // INVARIANT: As was just found. Ids have 16 bits.
        is_id.then_some(Self(number as u16))
    }

    /// Creates an id from what C keeps in an `int`, where zero means none.
    ///
    /// Warns of any other number that is no id: the memcg that has it could not be listed.
    pub(crate) fn from_raw(id: i32) -> Option<Self> {
        // What is negative to C is too high.
        let found = Self::new(id as u32);

        warn_on!(found.is_none() && id != 0);
        found
    }

    /// Returns the id as C passes it.
    pub(crate) fn as_raw(self) -> u16 {
        self.0
    }

    /// Returns the next higher number.
    pub(crate) fn after(self) -> u32 {
        u32::from(self.0).saturating_add(1)
    }

    /// Returns which bit of its word it has.
    fn offset(self) -> u32 {
        u32::from(self.0) % AtomicBits::LEN
    }
}

/// The number of ids, with zero, which stands for none.
const NR_IDS: u32 = bindings::SHRINKER_MEMCG_IDS;
const NR_WORDS: usize = (NR_IDS / AtomicBits::LEN) as usize;

const _: () = assert!(NR_IDS - 1 <= u16::MAX as u32, "an id has 16 bits");
const _: () = assert!(NR_IDS % AtomicBits::LEN == 0, "ids fill whole words");

/// What such an id stands for.
pub(crate) trait HasMemcgId: Sized {
    /// Returns the id by which the memcg is listed; none if it never is, or not any more because
    /// it went offline.
    fn listed_id(&self) -> Option<MemcgId>;

    /// Finds the memcg that has `id`. It may be about to come online, and is not found any more
    /// after it went offline.
    fn with_id<'g>(&'g self, id: MemcgId, guard: &'g Guard) -> Option<&'g Self>;
}

/// A bit for each memcg, by id.
///
/// A part of them is C's memory, as `struct shrinker_memcg_bitmap`.
#[repr(C)]
pub(crate) struct MemcgBitmap {
    words: [AtomicBits; NR_WORDS],
    /// Words from this one on have no bit, and never had. Only grows; behind the words, so that it
    /// shares no cache line with those that change all the time.
    limit: Atomic<u32>,
}

mirrors!(MemcgBitmap is bindings::shrinker_memcg_bitmap {
    words: words,
    limit: limit,
});

impl MemcgBitmap {
    /// Creates an empty bitmap, as it is in zeroed memory.
    #[cfg(any(CONFIG_MEMCG_V1, CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST))]
    pub(crate) const fn new() -> Self {
        Self {
            words: [const { AtomicBits::new() }; NR_WORDS],
            limit: Atomic::new(0),
        }
    }

    /// Returns the word that has the bit of `id`.
    fn word(&self, id: MemcgId) -> &AtomicBits {
        // By the type invariants of `MemcgId`, there is such a word.
        &self.words[usize::from(id.0) / AtomicBits::LEN as usize]
    }

    /// Returns whether the bit of `id` is set; orders nothing.
    #[inline]
    pub(crate) fn contains(&self, id: MemcgId) -> bool {
        self.word(id).test(id.offset())
    }

    /// Sets the bit of `id`, and returns whether it was clear. Fully ordered in that case.
    #[inline(always)]
    pub(crate) fn set(&self, id: MemcgId) -> bool {
        let (word, offset) = (self.word(id), id.offset());
        let limit = u32::from(id.0) / AtomicBits::LEN + 1;

        if word.test(offset) {
            return false;
        }
        // Before the bit, which is set fully ordered: who must find the bit finds the limit, too.
        if self.limit.load(Relaxed) < limit {
            self.raise_limit(limit);
        }
        !word.set(offset)
    }

    #[cold]
    #[inline(never)]
    fn raise_limit(&self, limit: u32) {
        let mut old = self.limit.load(Relaxed);

        while old < limit {
            old = match self.limit.cmpxchg(old, limit, Relaxed) {
                Ok(_) => return,
                Err(other) => other,
            };
        }
    }

    /// Clears the bit of `id`. Fully ordered.
    pub(crate) fn clear(&self, id: MemcgId) {
        self.word(id).clear(id.offset());
    }

    /// Returns the lowest id whose bit is set, from number `start` on.
    pub(crate) fn next(&self, start: u32) -> Option<MemcgId> {
        first_from(start, self.limit.load(Relaxed), |at| {
            Some(self.words.get(at)?.load())
        })
    }

    /// Returns the lowest id whose bit is set here or in `other`, from number `start` on.
    pub(crate) fn next_in_either(&self, other: &Self, start: u32) -> Option<MemcgId> {
        let limit = self.limit.load(Relaxed).max(other.limit.load(Relaxed));

        first_from(start, limit, |at| {
            Some(self.words.get(at)?.load().or(other.words.get(at)?.load()))
        })
    }
}

/// Returns the lowest id whose bit is set, from number `start` on, in words before `limit`.
#[inline(always)]
fn first_from(start: u32, limit: u32, load: impl Fn(usize) -> Option<Bits>) -> Option<MemcgId> {
    let mut from = start % AtomicBits::LEN;

    (start / AtomicBits::LEN..limit).find_map(|at| {
        let offset = load(at as usize)?.starting_at(take(&mut from)).next()?;

        MemcgId::new(at.wrapping_mul(AtomicBits::LEN).wrapping_add(offset))
    })
}
