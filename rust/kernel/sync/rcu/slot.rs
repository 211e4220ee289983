// SPDX-License-Identifier: GPL-2.0

//! Pointers that are read under RCU and own what they point to.
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

use crate::{
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
            Relaxed, //
        },
        rcu::Guard, //
    },
    types::Opaque, //
};

/// A value with room for RCU to queue it, so that freeing it needs no memory.
#[repr(C)]
pub struct RcuBox<T> {
    head: Opaque<bindings::callback_head>,
    value: T,
}

impl<T> RcuBox<T> {
    /// Puts `value` in a box that an [`RcuSlot`] takes.
    ///
    /// May sleep if `flags` allow it.
    pub fn new(value: T, flags: Flags) -> Result<KBox<Self>, AllocError> {
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
/// [`close`](Self::close) empties it for good, so that nobody else can fill it behind the back of
/// the one who takes an object apart.
///
/// Readers hold the read-side lock of RCU and nothing else. There may be any number of writers at
/// the same time: of two that replace the same value, one is told that it came too late.
///
/// `T` is used on all CPUs ([`Sync`]). It is dropped by a callback of `call_rcu()`: on any CPU
/// ([`Send`]), after any time (`'static`), and where nothing may sleep. Dropping the slot leaves
/// its value to RCU, too, as readers may outlive the slot: what they find borrows their guard only.
///
/// # Modules
///
/// Like the code of a work item, that by which RCU frees a value is part of the module that uses
/// the slot, and nothing keeps the module for it. One that can be unloaded must call
/// [`rcu_barrier()`](super::rcu_barrier) when its last slot is gone, once for each level at which
/// values have slots of their own.
///
/// # Invariants
///
/// - `ptr` is null, [`closed()`], or comes from [`KBox::into_raw`] and is owned by the slot.
/// - It becomes null never again, and changes never again once it is [`closed()`].
/// - A box that `ptr` pointed to is freed only after a grace period that began after `ptr` was
///   changed.
///
/// # Examples
///
/// ```
/// use kernel::sync::rcu::{self, RcuBox, RcuSlot};
///
/// /// Where to send requests. Read for each of them, and hardly ever changed.
/// struct Route {
///     queue: usize,
///     weight: usize,
/// }
///
/// static ROUTE: RcuSlot<Route> = RcuSlot::new();
///
/// /// Makes `queue` the only one, and keeps its weight if it was that already.
/// fn set_queue(queue: usize) -> Result {
///     let mut new = RcuBox::new(Route { queue, weight: 1 }, GFP_KERNEL)?;
///
///     loop {
///         let guard = rcu::read_lock();
///         let seen = ROUTE.read(&guard);
///
///         if seen.is_closed() {
///             return Err(ENODEV);
///         }
///         new.weight = seen.get().filter(|old| old.queue == queue).map_or(1, |old| old.weight);
///         new = match ROUTE.replace(&seen, new) {
///             // Frees the old one, if there was one, after a grace period.
///             Ok(_) => return Ok(()),
///             // Somebody else was faster.
///             Err(new) => new,
///         };
///     }
/// }
///
/// assert!(ROUTE.read(&rcu::read_lock()).get().is_none());
/// set_queue(3)?;
/// set_queue(5)?;
/// assert_eq!(ROUTE.read(&rcu::read_lock()).get().map(|route| route.queue), Some(5));
///
/// // What a reader has found stays valid as long as its guard.
/// let guard = rcu::read_lock();
/// let seen = ROUTE.read(&guard).get();
/// drop(ROUTE.close());
/// assert_eq!(seen.map(|route| route.queue), Some(5));
/// drop(guard);
///
/// assert_eq!(set_queue(7), Err(ENODEV));
/// # Ok::<(), Error>(())
/// ```
#[repr(transparent)]
pub struct RcuSlot<T: Send + Sync + 'static> {
    ptr: Atomic<*mut RcuBox<T>>,
    _owner: PhantomData<KBox<RcuBox<T>>>,
}

// SAFETY: A slot gives out `&T` on any CPU and drops `T` on any CPU, which `T` allows.
unsafe impl<T: Send + Sync + 'static> Send for RcuSlot<T> {}
// SAFETY: The pointer is atomic, shared users only get `&T` from it, and `T` is [`Sync`].
unsafe impl<T: Send + Sync + 'static> Sync for RcuSlot<T> {}

/// What a slot held when it was read; valid as long as the guard under which it was read.
///
/// # Invariants
///
/// `ptr` was loaded from an [`RcuSlot`] while the guard that `'g` borrows existed.
pub struct Snapshot<'g, T> {
    ptr: *mut RcuBox<T>,
    _guard: PhantomData<&'g T>,
}

impl<'g, T> Snapshot<'g, T> {
    /// Returns the value, if the slot was full.
    #[inline]
    pub fn get(&self) -> Option<&'g T> {
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
    pub fn is_closed(&self) -> bool {
        self.ptr == closed()
    }
}

impl<T: Send + Sync + 'static> RcuSlot<T> {
    /// Creates an empty slot.
    pub const fn new() -> Self {
        // INVARIANT: The pointer is null.
        Self {
            ptr: Atomic::new(ptr::null_mut()),
            _owner: PhantomData,
        }
    }

    /// Reads the slot.
    #[inline]
    pub fn read<'g>(&self, _guard: &'g Guard) -> Snapshot<'g, T> {
        // ORDERING: Like `rcu_dereference()`: what was written before the pointer was published is
        // visible through it, by the address dependency.
        //
        // INVARIANT: Loaded under the guard.
        Snapshot {
            ptr: self.ptr.load(Relaxed),
            _guard: PhantomData,
        }
    }

    /// Puts `new` into the slot, if it still holds what `seen` says and isn't closed.
    ///
    /// Does not sleep. If it succeeds, it is fully ordered. Returns what was replaced; gives `new`
    /// back if somebody else was faster.
    pub fn replace<'g>(
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
        // `read`. What the caller reads afterwards is read after others can see the box.
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
    pub fn close(&self) -> Option<Retired<T>> {
        // INVARIANT: The slot is closed now, and the old value is freed through `Retired`.
        let old = self.ptr.xchg(closed(), Full);

        if old == closed() {
            return None;
        }
        Retired::new(old)
    }
}

impl<T: Send + Sync + 'static> Default for RcuSlot<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send + Sync + 'static> Drop for RcuSlot<T> {
    fn drop(&mut self) {
        // Not freed here: a reader's reference to the value does not borrow the slot.
        drop(self.close());
    }
}

/// A value that its slot no longer holds; readers may still do. Dropping it queues it for freeing
/// after a grace period, without sleeping.
///
/// # Invariants
///
/// The box comes from [`KBox::into_raw`], was owned by a slot, and is owned by `self` now.
pub struct Retired<T: Send + Sync + 'static>(NonNull<RcuBox<T>>);

impl<T: Send + Sync + 'static> Retired<T> {
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

impl<T: Send + Sync + 'static> Deref for Retired<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: By the type invariants, the box is valid until `self` is dropped.
        unsafe { &self.0.as_ref().value }
    }
}

impl<T: Send + Sync + 'static> Drop for Retired<T> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants the box is valid, and `head` is a field of it.
        let head = Opaque::cast_into(unsafe { &raw const (*self.0.as_ptr()).head });

        // SAFETY: `head` is in a box that is not in use by RCU yet, as it is queued only here.
        // `free` is called after a grace period, when no reader that found the box in its slot
        // can still use it, and `self` was the only owner. It may be called at any time and on any
        // CPU, as `T` is `'static` and `Send`. A module waits for it before it is unloaded, see the
        // documentation of `RcuSlot`.
        unsafe { bindings::call_rcu(head, Some(Self::free)) };
    }
}
