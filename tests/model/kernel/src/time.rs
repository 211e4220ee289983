// SPDX-License-Identifier: GPL-2.0

//! Time, of which the model has none.

/// A span of time.
pub struct Delta;

impl Delta {
    /// Creates a span of some milliseconds.
    pub fn from_millis(_: i64) -> Self {
        Self
    }
}

/// Delays.
pub mod delay {
    /// Sleeps. Only the oracle does, which is off here.
    pub fn fsleep(_: super::Delta) {
        unreachable!("nothing sleeps in the model");
    }
}
