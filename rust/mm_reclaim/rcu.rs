// SPDX-License-Identifier: GPL-2.0

//! Pointers that are read under RCU.
//!
//! The kernel crate has the read-side lock as a type ([`Guard`]), but no pointer that is published
//! for readers under it. Here are the two that this crate needs: [`RcuSlot`] owns what it points
//! to and frees it after a grace period, [`RcuRef`] points to what somebody else frees so.
//!
//! C header: [`include/linux/rcupdate.h`](srctree/include/linux/rcupdate.h)

use core::{
    marker::PhantomData,
    ops::{
        Deref,
        DerefMut, //
    },
    ptr::{
        self,
        NonNull, //
    }, //
};
use kernel::{
    alloc::{
        AllocError,
        Flags, //
    },
    bindings,
    container_of,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Full,
            Release, //
        },
        rcu::Guard, //
    },
    types::Opaque, //
};

use crate::once;

/// A value with room for RCU to queue it, so that freeing it needs no memory.
#[repr(C)]
pub(crate) struct RcuBox<T> {
    head: Opaque<bindings::callback_head>,
    value: T,
}

impl<T> RcuBox<T> {
    /// Puts `value` in a box that an [`RcuSlot`] takes.
    ///
    /// May sleep if `flags` allow it.
    pub(crate) fn new(value: T, flags: Flags) -> Result<KBox<Self>, AllocError> {
        KBox::new(
            Self {
                head: Opaque::uninit(),
                value,
            },
            flags,
        )
    }
}

impl<T> Deref for RcuBox<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for RcuBox<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// What stands in the pointer of a closed slot. No box has this address: it is not aligned.
fn closed<T>() -> *mut RcuBox<T> {
    ptr::without_provenance_mut(1)
}

/// A pointer to a `T` that is read under RCU and replaced as a whole; the slot owns the value.
///
/// A slot is empty, full or closed. It starts empty. [`replace`](Self::replace) fills it, and
/// [`close`](Self::close) empties it for good.
///
/// # Invariants
///
/// - `ptr` is null, [`closed()`], or comes from [`KBox::into_raw`] and is owned by the slot.
/// - It becomes null never again, and changes never again once it is [`closed()`].
/// - A box that `ptr` pointed to is freed only after a grace period that began after `ptr` was
///   changed, or when no reader can exist.
#[repr(transparent)]
pub(crate) struct RcuSlot<T> {
    ptr: Atomic<*mut RcuBox<T>>,
    _owner: PhantomData<KBox<RcuBox<T>>>,
}

// SAFETY: A slot gives out `&T` on any CPU and drops `T` on any CPU.
unsafe impl<T: Send + Sync> Send for RcuSlot<T> {}
// SAFETY: As above.
unsafe impl<T: Send + Sync> Sync for RcuSlot<T> {}

/// What a slot held when it was read; valid as long as the guard under which it was read.
///
/// # Invariants
///
/// `ptr` was loaded from an [`RcuSlot`] while the guard that `'g` borrows existed.
pub(crate) struct Snapshot<'g, T> {
    ptr: *mut RcuBox<T>,
    _guard: PhantomData<&'g T>,
}

impl<'g, T> Snapshot<'g, T> {
    /// Returns the value, if the slot was full.
    #[inline]
    pub(crate) fn get(&self) -> Option<&'g T> {
        if self.ptr.is_null() || self.is_closed() {
            return None;
        }
        // SAFETY: By the type invariants of `RcuSlot`, `ptr` points to a box that is freed only
        // after a grace period that began after the slot was changed. The guard that `'g` borrows
        // existed when the slot still held it, so that grace period can't end before `'g` does.
        Some(unsafe { &(*self.ptr).value })
    }

    /// Returns whether the slot was closed.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.ptr == closed()
    }
}

impl<T> RcuSlot<T> {
    /// Creates an empty slot.
    pub(crate) const fn new() -> Self {
        // INVARIANT: The pointer is null.
        Self {
            ptr: Atomic::new(ptr::null_mut()),
            _owner: PhantomData,
        }
    }

    /// Reads the slot.
    #[inline]
    pub(crate) fn read<'g>(&self, _guard: &'g Guard) -> Snapshot<'g, T> {
        // ORDERING: Like `rcu_dereference()`: what was written before the pointer was published is
        // visible through it, by the address dependency.
        //
        // INVARIANT: Loaded under the guard.
        Snapshot {
            ptr: once::read(&self.ptr),
            _guard: PhantomData,
        }
    }

    /// Puts `new` into the slot, if it still holds what `seen` says and isn't closed.
    ///
    /// Does not sleep. Returns what was replaced; gives `new` back if somebody else was faster.
    pub(crate) fn replace<'g>(
        &self,
        seen: &Snapshot<'g, T>,
        new: KBox<RcuBox<T>>,
    ) -> Result<Option<Retired<T>>, KBox<RcuBox<T>>> {
        if seen.is_closed() {
            return Err(new);
        }
        let raw = KBox::into_raw(new);

        // A box can't have been freed and its address have come back since `seen` was taken: the
        // guard of `seen` prevents it.
        //
        // ORDERING: Fully ordered. Readers see the box initialized; pairs with the dependency in
        // `read`. What the caller reads afterwards is read after others can see the box; see
        // `Map::install`.
        //
        // INVARIANT: `raw` comes from `KBox::into_raw`, and is not null; the old value is neither
        // `closed()`, nor freed other than through `Retired`.
        match self.ptr.cmpxchg(seen.ptr, raw, Full) {
            Ok(old) => Ok(Retired::new(old)),
            // SAFETY: `raw` comes from `KBox::into_raw` above, and was not published.
            Err(_) => Err(unsafe { KBox::from_raw(raw) }),
        }
    }

    /// Empties the slot for good.
    ///
    /// Does not sleep. Fully ordered. Returns what the slot held.
    pub(crate) fn close(&self) -> Option<Retired<T>> {
        // INVARIANT: The slot is closed now, and the old value is freed through `Retired`.
        let old = self.ptr.xchg(closed(), Full);

        if old == closed() {
            return None;
        }
        Retired::new(old)
    }
}

/// A value that its slot no longer holds; readers may still do. Dropping it queues it for freeing
/// after a grace period, without sleeping.
///
/// # Invariants
///
/// The box comes from [`KBox::into_raw`], was owned by a slot, and is owned by `self` now.
pub(crate) struct Retired<T>(NonNull<RcuBox<T>>);

impl<T> Retired<T> {
    fn new(old: *mut RcuBox<T>) -> Option<Self> {
        // INVARIANT: The callers took `old` out of their slot.
        NonNull::new(old).map(Self)
    }

    /// Frees the box that `head` is a part of.
    ///
    /// # Safety
    ///
    /// `head` must be the first field of an `RcuBox<T>` that comes from [`KBox::into_raw`], and
    /// nobody may use that box any more.
    unsafe extern "C" fn free(head: *mut bindings::callback_head) {
        let head: *mut Opaque<bindings::callback_head> = head.cast();
        // SAFETY: `head` is a field of an `RcuBox<T>`, as the safety requirements say.
        let raw: *mut RcuBox<T> = unsafe { container_of!(head, RcuBox<T>, head) };

        // SAFETY: As the safety requirements say.
        drop(unsafe { KBox::from_raw(raw) });
    }
}

impl<T> Deref for Retired<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: By the type invariants, the box is valid until `self` is dropped.
        unsafe { &self.0.as_ref().value }
    }
}

impl<T> Drop for Retired<T> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants the box is valid, and `head` is a field of it.
        let head = Opaque::cast_into(unsafe { &raw const (*self.0.as_ptr()).head });

        // SAFETY: `head` is in a box that is not in use by RCU yet, as it is queued only here.
        // `free` is called after a grace period, when no reader that found the box in its slot
        // can still use it, and `self` was the only owner.
        unsafe { bindings::call_rcu(head, Some(Self::free)) };
    }
}

/// A promise about an object that C code owns.
///
/// # Invariants
///
/// The object stays valid until a grace period has passed after the last [`RcuRef`] was made to
/// forget it.
pub(crate) struct Lent<T>(NonNull<T>);

impl<T> Lent<T> {
    /// Makes the promise for `object`.
    ///
    /// # Safety
    ///
    /// The caller must uphold the type invariants.
    pub(crate) unsafe fn new(object: NonNull<T>) -> Self {
        // INVARIANT: As the safety requirements say.
        Self(object)
    }
}

/// A pointer to an object that C code owns, read under RCU.
///
/// # Invariants
///
/// The pointer is null, or comes from a [`Lent`].
#[repr(transparent)]
pub(crate) struct RcuRef<T>(Atomic<*mut T>);

// SAFETY: Gives out `&T` on any CPU, and never owns it.
unsafe impl<T: Sync> Send for RcuRef<T> {}
// SAFETY: As above.
unsafe impl<T: Sync> Sync for RcuRef<T> {}

impl<T> RcuRef<T> {
    /// Creates a pointer to nothing.
    pub(crate) const fn new() -> Self {
        // INVARIANT: The pointer is null.
        Self(Atomic::new(ptr::null_mut()))
    }

    /// Creates a pointer to what `other` points to.
    pub(crate) fn copy_of(other: &Self) -> Self {
        // INVARIANT: Null or from a `Lent`, as in `other`.
        Self(Atomic::new(once::read(&other.0)))
    }

    /// Reads the pointer.
    #[inline]
    pub(crate) fn get<'g>(&self, _guard: &'g Guard) -> Option<&'g T> {
        // ORDERING: Like `rcu_dereference()`, see `RcuSlot::read`.
        //
        // SAFETY: By the type invariants the pointer is null or the object is valid until a grace
        // period has passed after it was forgotten, which can't end before `'g` does.
        unsafe { once::read(&self.0).as_ref() }
    }

    /// Publishes `object`, or forgets what was published.
    pub(crate) fn set(&self, object: Option<Lent<T>>) {
        // ORDERING: Release, so that readers see the object initialized; pairs with the dependency
        // in `get`.
        //
        // INVARIANT: The pointer is null or comes from a `Lent`.
        self.0.store(
            object.map_or(ptr::null_mut(), |lent| lent.0.as_ptr()),
            Release,
        );
    }
}
