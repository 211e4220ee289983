// SPDX-License-Identifier: GPL-2.0

//! What one memcg has, on one node, of 64 neighbouring shrinkers: bits and deferred work.

use kernel::sync::atomic::{
    Atomic,
    Full,
    Relaxed, //
};

use crate::bits::{
    AtomicBits,
    Bits, //
};

/// A bit and a count of deferred work for each of 64 shrinkers.
/// Valid when it is zeroed.
#[repr(C)]
pub(crate) struct Unit {
    bits: AtomicBits,
    nr_deferred: [Atomic<isize>; Unit::LEN as usize],
}

impl Unit {
    /// Number of shrinkers in a unit.
    pub(crate) const LEN: u32 = AtomicBits::LEN;

    /// Reads the bits of all shrinkers; orders nothing.
    pub(crate) fn bits(&self) -> Bits {
        self.bits.load()
    }

    /// Sets the bit of the shrinker at `offset`. Fully ordered.
    pub(crate) fn set(&self, offset: u32) {
        self.bits.set(offset);
    }

    /// Clears the bit of the shrinker at `offset`. Fully ordered.
    pub(crate) fn clear(&self, offset: u32) {
        self.bits.clear(offset);
    }

    /// Takes the work, in objects to scan, that the shrinker at `offset` left over.
    pub(crate) fn take_deferred(&self, offset: u32) -> isize {
        // Mostly there is none, and then the cache line is not written.
        match self.nr_deferred(offset) {
            0 => 0,
            _ => self.deferred(offset).xchg(0, Full),
        }
    }

    /// Adds to the work that the shrinker at `offset` left over, and returns the sum. Fully
    /// ordered.
    pub(crate) fn add_deferred(&self, offset: u32, nr: isize) -> isize {
        self.deferred(offset).fetch_add(nr, Full).wrapping_add(nr)
    }

    /// Reads the work that the shrinker at `offset` left over.
    pub(crate) fn nr_deferred(&self, offset: u32) -> isize {
        self.deferred(offset).load(Relaxed)
    }

    /// Reads the work that all shrinkers together left over.
    #[cfg(CONFIG_DEBUG_FS)]
    pub(crate) fn sum_deferred(&self) -> isize {
        self.nr_deferred
            .iter()
            .map(|nr| nr.load(Relaxed))
            .fold(0, isize::saturating_add)
    }

    fn deferred(&self, offset: u32) -> &Atomic<isize> {
        // The remainder has the compiler see that there is such a counter.
        &self.nr_deferred[(offset % Self::LEN) as usize]
    }
}
