// SPDX-License-Identifier: GPL-2.0

//! Sets of memcgs: a bit for each private id.
//!
//! A walk of a set goes from bit to bit, so that it costs what there is to visit: neither the
//! number of memcgs nor their depth matters. There is one set for each node, of the memcgs that may
//! have something to shrink there, and one of those in excess of their soft limits.

use kernel::{
    bindings,
    sync::rcu::Guard,
    warn_on, //
};

use crate::{
    bits::{
        self,
        AtomicBits, //
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
    /// Creates the id with this number, if there is such an id.
    #[inline]
    pub(crate) fn new(number: u32) -> Option<Self> {
        let is_id = number != 0 && number < NR_IDS;

        // INVARIANT: As was just found. Ids have 16 bits.
        is_id.then_some(Self(number as u16))
    }

    /// Creates an id from what C keeps in an `int`, where zero means none.
    ///
    /// Warns of any other number that is no id: the memcg that has it could not be listed.
    #[inline]
    pub(crate) fn from_raw(id: i32) -> Option<Self> {
        // What is negative to C is too high.
        let found = Self::new(id as u32);

        warn_on!(found.is_none() && id != 0);
        found
    }

    /// Returns the id as C passes it.
    #[inline]
    pub(crate) fn as_raw(self) -> u16 {
        self.0
    }

    /// Returns the next higher number.
    #[inline]
    pub(crate) fn after(self) -> u32 {
        u32::from(self.0).saturating_add(1)
    }

    /// Returns in which word its bit is.
    #[inline]
    fn word(self) -> u32 {
        u32::from(self.0) / AtomicBits::LEN
    }

    /// Returns which bit of the word it is.
    #[inline]
    fn offset(self) -> u32 {
        u32::from(self.0) % AtomicBits::LEN
    }
}

/// The number of ids, with zero, which stands for none.
const NR_IDS: u32 = bindings::SHRINKER_MEMCG_IDS;
const NR_WORDS: usize = (NR_IDS / AtomicBits::LEN) as usize;
const NR_SUMMARIES: usize = NR_WORDS / AtomicBits::LEN as usize;

const _: () = assert!(NR_IDS - 1 <= u16::MAX as u32, "an id has 16 bits");
const _: () =
    assert!(NR_IDS as usize == NR_SUMMARIES * (AtomicBits::LEN * AtomicBits::LEN) as usize);

/// What such an id stands for.
pub(crate) trait HasMemcgId: Sized {
    /// Returns the id by which the memcg is listed; none if it never is, or not any more because
    /// it went offline.
    fn listed_id(&self) -> Option<MemcgId>;

    /// Finds the memcg that has `id`. It may be dying.
    fn with_id<'g>(&'g self, id: MemcgId, guard: &'g Guard) -> Option<&'g Self>;
}

/// A bit for each memcg, by id.
///
/// A part of them is C's memory, as `struct shrinker_memcg_bitmap`.
#[repr(C)]
pub(crate) struct MemcgBitmap {
    /// Bit k: word k may have a bit set.
    word_summary: [AtomicBits; NR_SUMMARIES],
    words: [AtomicBits; NR_WORDS],
}

mirrors!(MemcgBitmap is bindings::shrinker_memcg_bitmap {
    word_summary: summary,
    words: words,
});

impl MemcgBitmap {
    /// Creates an empty bitmap, as it is in zeroed memory.
    #[cfg(any(CONFIG_MEMCG_V1, CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST))]
    pub(crate) const fn new() -> Self {
        use crate::bits::Bits;

        Self {
            word_summary: [const { AtomicBits::new(Bits::NONE) }; NR_SUMMARIES],
            words: [const { AtomicBits::new(Bits::NONE) }; NR_WORDS],
        }
    }

    #[inline]
    fn word(&self, at: u32) -> Option<&AtomicBits> {
        self.words.get(at as usize)
    }

    #[inline]
    fn word_summary(&self, at: u32) -> Option<&AtomicBits> {
        self.word_summary.get((at / AtomicBits::LEN) as usize)
    }

    /// Returns whether the bit of `id` is set; orders nothing.
    #[inline]
    pub(crate) fn contains(&self, id: MemcgId) -> bool {
        self.word(id.word())
            .is_some_and(|word| word.test(id.offset()))
    }

    /// Sets the bit of `id`, and returns whether it was clear. Fully ordered in that case.
    #[inline]
    pub(crate) fn set(&self, id: MemcgId) -> bool {
        let (at, offset) = (id.word(), id.offset());
        let Some(word) = self.word(at) else {
            return false;
        };

        // ORDERING: The full barrier is before the summary is read; pairs with `clear`. Whoever
        // finds the bit set leaves the rest to the one who set it.
        let was_clear = !word.test(offset) && !word.set(offset);
        self.set_word_summary(at);
        was_clear
    }

    #[inline]
    fn set_word_summary(&self, at: u32) {
        let offset = at % AtomicBits::LEN;

        if let Some(summary) = self
            .word_summary(at)
            .filter(|summary| !summary.test(offset))
        {
            summary.set(offset);
        }
    }

    /// Clears the bit of `id`. Fully ordered.
    pub(crate) fn clear(&self, id: MemcgId) {
        let at = id.word();
        let (Some(word), Some(summary)) = (self.word(at), self.word_summary(at)) else {
            return;
        };

        word.clear(id.offset());
        if word.load().is_empty() {
            // ORDERING: Fully ordered before the word is read again; pairs with `set`.
            summary.clear(at % AtomicBits::LEN);
            if !word.load().is_empty() {
                self.set_word_summary(at);
            }
        }
    }

    /// Returns the lowest id whose bit is set, from number `start` on.
    pub(crate) fn next(&self, mut start: u32) -> Option<MemcgId> {
        loop {
            let at = start / AtomicBits::LEN;
            let bits = self.word(at)?.load();
            if let Some(offset) = bits.starting_at(start % AtomicBits::LEN).next() {
                return MemcgId::new(at.wrapping_mul(AtomicBits::LEN).wrapping_add(offset));
            }
            let next = bits::first_from(&self.word_summary, at.wrapping_add(1), |bits| bits)?;
            start = next.wrapping_mul(AtomicBits::LEN);
        }
    }
}
