// SPDX-License-Identifier: GPL-2.0

//! The slab cache of units.
//!
//! A unit in a `kmalloc` bucket would waste nearly half of it.

use core::ptr::NonNull;
use kernel::{
    alloc::{
        AllocError,
        Flags, //
    },
    bindings,
    prelude::*,
    sync::{
        aref::{
            ARef,
            AlwaysRefCounted, //
        },
        Refcount, //
    }, //
};

use crate::{
    node::Node,
    stat::{
        self,
        Stat, //
    },
    unit::Unit, //
};

/// The reference count of a unit, out of reach for all other modules.
#[repr(transparent)]
pub(crate) struct UnitRefcount(Refcount);

impl Unit {
    /// Allocates a unit without bits and deferred work, preferably on `node`.
    ///
    /// May sleep if `flags` allow it.
    pub(crate) fn alloc(flags: Flags, node: Node) -> Result<ARef<Unit>, AllocError> {
        // SAFETY: An FFI call with no additional requirements.
        let raw = unsafe { bindings::shrinker_unit_zalloc(flags.as_raw(), node.as_raw()) };
        let unit = NonNull::new(raw.cast::<Unit>()).ok_or(AllocError)?;

        // SAFETY: `unit` points to zeroed memory of the size of a `Unit` (see the assertion beside
        // its definition) and the alignment of `long`, and a `Unit` consists of atomic integers,
        // for which zero is valid. Nobody else knows of it.
        unsafe { unit.as_ref() }.refcount().0.set(1);
        stat::add(Stat::Units, 1);

        // SAFETY: The reference count is one, and that one is relinquished here.
        Ok(unsafe { ARef::from_raw(unit) })
    }
}

// SAFETY: A unit is freed only when its reference count drops to zero, and every unit comes from
// `Unit::alloc`, which starts the count.
unsafe impl AlwaysRefCounted for Unit {
    fn inc_ref(&self) {
        self.refcount().0.inc();
    }

    unsafe fn dec_ref(unit: NonNull<Self>) {
        // SAFETY: The caller owns a reference.
        if unsafe { unit.as_ref() }.refcount().0.dec_and_test() {
            // SAFETY: That was the last reference, and the unit comes from
            // `shrinker_unit_zalloc()`. There is nothing in it to drop.
            unsafe { bindings::shrinker_unit_free(unit.as_ptr().cast()) };
            stat::add(Stat::Units, -1);
        }
    }
}
