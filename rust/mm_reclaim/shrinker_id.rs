// SPDX-License-Identifier: GPL-2.0

//! The id of a shrinker: a small number by which maps name it.

use crate::unit::Unit;

/// The id of a shrinker.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShrinkerId(pub(crate) u32);

impl ShrinkerId {
    /// Number of ids that C can hold in an `int`.
    pub(crate) const LIMIT: u32 = 1 << 31;

    /// Creates the id at `offset` of the unit with index `index`.
    pub(crate) fn new(index: u32, offset: u32) -> Self {
        Self(index.wrapping_mul(Unit::LEN).wrapping_add(offset))
    }

    /// Creates an id from what C keeps in an `int`, where a negative number means none.
    pub(crate) fn from_raw(id: i32) -> Option<Self> {
        u32::try_from(id).ok().map(Self)
    }

    /// Returns the id as C keeps it.
    pub(crate) fn as_raw(self) -> i32 {
        // `LIMIT` keeps ids below the sign bit.
        self.0 as i32
    }

    /// Returns the index of the id's unit.
    pub(crate) fn index(self) -> u32 {
        self.0 / Unit::LEN
    }

    /// Returns the place of the id in its unit.
    pub(crate) fn offset(self) -> u32 {
        self.0 % Unit::LEN
    }
}
