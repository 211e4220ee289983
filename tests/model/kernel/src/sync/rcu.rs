// SPDX-License-Identifier: GPL-2.0

//! The read-side lock of RCU, and the pointers that are read under it: these are the kernel's own.

use core::marker::PhantomData;

use crate::model;

#[path = "../../../../../rust/kernel/sync/rcu/slot.rs"]
mod slot;

#[path = "../../../../../rust/kernel/sync/rcu/reference.rs"]
mod reference;

pub use reference::{
    RcuFreed,
    RcuRef, //
};
pub use slot::{
    RcuBox,
    RcuSlot,
    Retired,
    Snapshot, //
};

/// Evidence that the read-side lock is held.
pub struct Guard {
    number: u64,
    _not_send: PhantomData<*mut ()>,
}

/// Takes the read-side lock.
pub fn read_lock() -> Guard {
    Guard {
        number: model::rcu_read_lock(),
        _not_send: PhantomData,
    }
}

/// Waits for a grace period.
pub fn synchronize_rcu() {
    model::synchronize_rcu();
}

impl Drop for Guard {
    fn drop(&mut self) {
        model::rcu_read_unlock(self.number);
    }
}
