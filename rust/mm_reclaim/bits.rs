// SPDX-License-Identifier: GPL-2.0

//! A word of bits that several CPUs set and clear.

use kernel::sync::atomic::{
    Atomic,
    Relaxed, //
};

/// A word of atomic bits.
///
/// [`set`](Self::set) and [`clear`](Self::clear) always perform a fully ordered read-modify-write,
/// also where the bit already had the wanted value: every access before the call is ordered before
/// the operation, and the operation before every access after it, as if `smp_mb()` stood on both
/// sides. The protocols in [`map`](crate::map) rely on it.
#[repr(transparent)]
pub(crate) struct AtomicBits(Atomic<usize>);

impl AtomicBits {
    /// Number of bits.
    pub(crate) const LEN: u32 = usize::BITS;

    /// Creates a word without bits.
    #[cfg(any(CONFIG_MEMCG_V1, CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST))]
    pub(crate) const fn new() -> Self {
        Self(Atomic::new(0))
    }

    /// Reads the whole word; orders nothing.
    #[inline]
    pub(crate) fn load(&self) -> Bits {
        Bits(self.0.load(Relaxed))
    }

    /// Returns whether `bit` is set; orders nothing.
    #[inline]
    pub(crate) fn test(&self, bit: u32) -> bool {
        self.load().contains(bit)
    }

    /// Sets `bit`, and returns whether it was set before. Fully ordered.
    #[inline]
    pub(crate) fn set(&self, bit: u32) -> bool {
        self.0.test_and_set_bit(bit)
    }

    /// Clears `bit`, and returns whether it was set before. Fully ordered.
    #[inline]
    pub(crate) fn clear(&self, bit: u32) -> bool {
        self.0.test_and_clear_bit(bit)
    }
}

/// A copy of an [`AtomicBits`]; iterates over the numbers of the set bits, lowest first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bits(usize);

impl Bits {
    /// Takes the word as it is.
    pub(crate) fn from_raw(word: usize) -> Self {
        Self(word)
    }

    fn mask(bit: u32) -> usize {
        1usize.wrapping_shl(bit)
    }

    /// Returns whether no bit is set.
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns those of the bits that are not below `bit`.
    pub(crate) fn starting_at(self, bit: u32) -> Self {
        Self(self.0 & usize::MAX.wrapping_shl(bit))
    }

    /// Returns the bits that are set here or in `other`.
    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether `bit` is set.
    pub(crate) fn contains(self, bit: u32) -> bool {
        self.0 & Self::mask(bit) != 0
    }
}

impl Iterator for Bits {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        let bit = self.0.trailing_zeros();
        self.0 &= self.0.wrapping_sub(1);
        Some(bit)
    }
}
