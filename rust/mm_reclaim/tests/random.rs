// SPDX-License-Identifier: GPL-2.0

//! Random numbers and checks for the suites.

use kernel::{
    bindings,
    fmt,
    kunit,
    prelude::*, //
};

/// A small generator (xorshift64*); good enough to choose operations.
pub(super) struct Random {
    seed: u32,
    state: u64,
}

impl Random {
    /// Starts with the seed that was asked for, or a new one, and prints it.
    pub(super) fn new(test: &str) -> Self {
        // SAFETY: An FFI call with no additional requirements.
        let seed = unsafe { bindings::mm_reclaim_test_seed() };

        kunit::info(fmt!("    # {test}: mm_reclaim_test.seed={seed}\n"));
        Self {
            seed,
            state: u64::from(seed) | 1 << 32,
        }
    }

    /// Returns a number below `limit`.
    pub(super) fn below(&mut self, limit: u32) -> u32 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let high = self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;

        (high as u32).checked_rem(limit).unwrap_or(0)
    }

    /// Fails with a message, unless `ok`. Returns instead of ending the thread, so that the
    /// destructors of what the test holds run.
    pub(super) fn check(&self, ok: bool, step: u32, what: fmt::Arguments<'_>) -> Result {
        if ok {
            return Ok(());
        }
        kunit::err(fmt!("    # step {step}, seed {}: {what}\n", self.seed));
        Err(EINVAL)
    }
}
