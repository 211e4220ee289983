// SPDX-License-Identifier: GPL-2.0

//! Atomics with the kernel's operations and orderings, on loom's atomics.
//!
//! - A fully ordered operation stands between two `fence(SeqCst)`, as the kernel has it between two
//!   `smp_mb()`. A `cmpxchg` that fails has only the first one, which is more than the kernel gives.
//! - Relaxed, acquire and release are those of loom.
//! - A relaxed load of a pointer is an acquire in most explorations, as loom has no dependencies.
//!
//! Outside of an exploration these are plain memory of one thread.

use core::{
    cell::UnsafeCell,
    sync::atomic as host, //
};

use crate::model;

use host::Ordering::{
    AcqRel,
    SeqCst, //
};

/// An ordering.
pub trait Ordering {
    /// How loom calls it; fully ordered operations have fences besides.
    const HOST: host::Ordering;
    /// Whether it needs these fences.
    const IS_FULL: bool = false;
}

/// Orders nothing.
pub struct Relaxed;
/// Orders what follows.
pub struct Acquire;
/// Orders what comes before.
pub struct Release;
/// Orders everything.
pub struct Full;

impl Ordering for Relaxed {
    const HOST: host::Ordering = host::Ordering::Relaxed;
}
impl Ordering for Acquire {
    const HOST: host::Ordering = host::Ordering::Acquire;
}
impl Ordering for Release {
    const HOST: host::Ordering = host::Ordering::Release;
}
impl Ordering for Full {
    const HOST: host::Ordering = AcqRel;
    const IS_FULL: bool = true;
}

/// The orderings of a load.
pub trait AcquireOrRelaxed: Ordering {}
impl AcquireOrRelaxed for Acquire {}
impl AcquireOrRelaxed for Relaxed {}

/// The orderings of a store.
pub trait ReleaseOrRelaxed: Ordering {}
impl ReleaseOrRelaxed for Release {}
impl ReleaseOrRelaxed for Relaxed {}

/// What an atomic can be made of.
pub trait AtomicType: Copy {
    /// Whether accesses through the value depend on it.
    const IS_POINTER: bool = false;

    /// As a word.
    fn to_word(self) -> usize;

    /// From a word.
    fn from_word(word: usize) -> Self;
}

macro_rules! impl_number {
    ($($type:ty)*) => {
        $(
            impl AtomicType for $type {
                fn to_word(self) -> usize {
                    self as usize
                }

                fn from_word(word: usize) -> Self {
                    word as $type
                }
            }
        )*
    };
}

impl_number!(usize isize u32 i32);

impl<T> AtomicType for *mut T {
    const IS_POINTER: bool = true;

    fn to_word(self) -> usize {
        self.expose_provenance()
    }

    fn from_word(word: usize) -> Self {
        core::ptr::with_exposed_provenance_mut(word)
    }
}

/// An atomic. Valid when it is zeroed.
#[repr(C)]
pub struct Atomic<T: AtomicType> {
    /// The value at first, and outside of an exploration.
    value: UnsafeCell<T>,
    /// Which of loom's atomics it is in this execution, see [`model::Object`]. That one holds the
    /// difference to the value at first: so it is zero for all when they are made.
    object: host::AtomicU64,
}

// SAFETY: In an exploration all threads are coroutines of one.
unsafe impl<T: AtomicType> Send for Atomic<T> {}
// SAFETY: As above. Outside of explorations, tests share no atomics.
unsafe impl<T: AtomicType> Sync for Atomic<T> {}

impl<T: AtomicType> Atomic<T> {
    /// Creates an atomic.
    pub const fn new(value: T) -> Self {
        Self {
            value: UnsafeCell::new(value),
            object: host::AtomicU64::new(0),
        }
    }

    fn first(&self) -> T {
        // SAFETY: Written only outside of an exploration, by the only thread.
        unsafe { *self.value.get() }
    }

    fn decode(&self, word: usize) -> T {
        T::from_word(word.wrapping_add(self.first().to_word()))
    }

    fn encode(&self, value: T) -> usize {
        value.to_word().wrapping_sub(self.first().to_word())
    }

    fn address(&self) -> usize {
        core::ptr::from_ref(self).addr()
    }

    /// Reads the value.
    pub fn load<O: AcquireOrRelaxed>(&self, _: O) -> T {
        let ordering = if T::IS_POINTER && model::has_dependencies() {
            host::Ordering::Acquire
        } else {
            O::HOST
        };

        match model::object(self.address(), &self.object, true) {
            Some(object) => self.decode(object.load(ordering)),
            None => self.first(),
        }
    }

    /// Writes the value.
    pub fn store<O: ReleaseOrRelaxed>(&self, value: T, _: O) {
        match model::object(self.address(), &self.object, false) {
            Some(object) => object.store(self.encode(value), O::HOST),
            // SAFETY: There is only this thread.
            None => unsafe { *self.value.get() = value },
        }
    }

    /// Exchanges the value.
    pub fn xchg<O: Ordering>(&self, value: T, _: O) -> T {
        let Some(object) = model::object(self.address(), &self.object, false) else {
            // SAFETY: There is only this thread.
            return unsafe { self.value.get().replace(value) };
        };

        fence::<O>();
        let old = object.swap(self.encode(value), O::HOST);
        fence::<O>();
        self.decode(old)
    }

    /// Exchanges the value if it is `old`; returns what it was.
    pub fn cmpxchg<O: Ordering>(&self, old: T, new: T, _: O) -> Result<T, T> {
        let Some(object) = model::object(self.address(), &self.object, false) else {
            let now = self.first();

            if now.to_word() != old.to_word() {
                return Err(now);
            }
            // SAFETY: There is only this thread.
            unsafe { *self.value.get() = new };
            return Ok(now);
        };

        fence::<O>();
        let result = object.compare_exchange(
            self.encode(old),
            self.encode(new),
            O::HOST,
            host::Ordering::Relaxed,
        );
        if result.is_ok() {
            fence::<O>();
        }
        result
            .map(|word| self.decode(word))
            .map_err(|word| self.decode(word))
    }

    /// Adds to the value, and returns what it was.
    pub fn fetch_add<O: Ordering>(&self, nr: T, _: O) -> T {
        let Some(object) = model::object(self.address(), &self.object, false) else {
            let old = self.first();

            // SAFETY: There is only this thread.
            unsafe { *self.value.get() = T::from_word(old.to_word().wrapping_add(nr.to_word())) };
            return old;
        };

        fence::<O>();
        let old = object.fetch_add(nr.to_word(), O::HOST);
        fence::<O>();
        self.decode(old)
    }

    /// Replaces the value by what `f` makes of it, in one step, and returns what it was.
    fn update<O: Ordering>(&self, f: impl Fn(usize) -> usize, _: O) -> T {
        let new = |old: T| T::from_word(f(old.to_word()));
        let Some(object) = model::object(self.address(), &self.object, false) else {
            let old = self.first();

            // SAFETY: There is only this thread.
            unsafe { *self.value.get() = new(old) };
            return old;
        };

        fence::<O>();
        let old = object.fetch_update(O::HOST, host::Ordering::Relaxed, |word| {
            Some(self.encode(new(self.decode(word))))
        });
        fence::<O>();
        self.decode(old.unwrap_or_else(|word| word))
    }

    /// Adds to the value.
    pub fn add(&self, nr: T, ordering: Relaxed) {
        self.fetch_add(nr, ordering);
    }
}

impl Atomic<usize> {
    /// Sets a bit, and returns whether it was set before.
    pub fn test_and_set_bit(&self, nr: u32) -> bool {
        let mask = 1usize.wrapping_shl(nr);

        self.update(|old| old | mask, Full) & mask != 0
    }

    /// Clears a bit, and returns whether it was set before.
    pub fn test_and_clear_bit(&self, nr: u32) -> bool {
        let mask = 1usize.wrapping_shl(nr);

        self.update(|old| old & !mask, Full) & mask != 0
    }
}

fn fence<O: Ordering>() {
    if O::IS_FULL {
        loom::sync::atomic::fence(SeqCst);
    }
}
