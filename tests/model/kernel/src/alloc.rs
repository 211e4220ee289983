// SPDX-License-Identifier: GPL-2.0

//! Memory that knows when it was freed, and vectors that know who used them.

use core::{
    mem::MaybeUninit,
    ops::{
        Deref,
        DerefMut, //
    },
    ptr::NonNull, //
};

use loom::cell::UnsafeCell;

use crate::model;

/// There is no memory.
#[derive(Debug)]
pub struct AllocError;

/// Flags of an allocation.
#[derive(Clone, Copy)]
pub struct Flags(u32);

impl Flags {
    /// Creates flags from what C has.
    pub const fn from_raw(gfp: u32) -> Self {
        Self(gfp)
    }

    /// Returns the flags as C has them.
    pub fn as_raw(self) -> u32 {
        self.0
    }

    /// Returns whether the allocation may sleep: `__GFP_DIRECT_RECLAIM`.
    pub(crate) fn allow_blocking(self) -> bool {
        self.0 & 0x400 != 0
    }

    /// Fails if the allocation may sleep, and the context doesn't allow it.
    pub(crate) fn check_context(self) {
        if self.allow_blocking() {
            model::check_may_sleep("an allocation may sleep");
        }
    }
}

/// The flags that the crate knows.
pub mod flags {
    /// An ordinary allocation, which may sleep.
    pub const GFP_KERNEL: super::Flags = super::Flags(0xcc0);
    /// One that may not.
    pub const GFP_NOWAIT: super::Flags = super::Flags(0x2800);
}

/// Gives a box back to the host.
///
/// # Safety
///
/// `ptr` must come from a `Box<T>` that nobody uses any more.
unsafe fn give_back<T>(ptr: *mut ()) {
    // SAFETY: As the safety requirements say.
    drop(unsafe { Box::from_raw(ptr.cast::<T>()) });
}

/// A value on the heap.
pub struct KBox<T>(NonNull<T>);

impl<T> KBox<T> {
    /// Puts `value` on the heap.
    pub fn new(value: T, flags: Flags) -> Result<Self, AllocError> {
        flags.check_context();
        if model::allocation_fails() {
            return Err(AllocError);
        }
        model::count_allocation();
        Ok(Self(NonNull::from(Box::leak(Box::new(value)))))
    }

    /// Gives the box away as a pointer.
    pub fn into_raw(this: Self) -> *mut T {
        core::mem::ManuallyDrop::new(this).0.as_ptr()
    }

    /// Takes a box back.
    ///
    /// # Safety
    ///
    /// `ptr` must come from [`into_raw`](Self::into_raw), once.
    pub unsafe fn from_raw(ptr: *mut T) -> Self {
        Self(NonNull::new(ptr).expect("a box at address zero"))
    }
}

impl<T> Deref for KBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        model::check_alive(self.0.as_ptr().addr());
        // SAFETY: The box is owned.
        unsafe { self.0.as_ref() }
    }
}

impl<T> DerefMut for KBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        model::check_alive(self.0.as_ptr().addr());
        // SAFETY: The box is owned.
        unsafe { self.0.as_mut() }
    }
}

impl<T> Drop for KBox<T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let ptr = self.0.as_ptr();

        model::check_alive(ptr.addr());
        // SAFETY: The box is owned.
        unsafe { ptr.drop_in_place() };
        // It comes from a `Box`, and the value was dropped.
        let give_back = give_back::<MaybeUninit<T>>;
        model::retire(ptr.addr(), size_of::<T>(), ptr.cast(), give_back);
    }
}

/// What a vector has on the heap.
struct Buffer<T> {
    values: Vec<T>,
    is_freed: bool,
    /// Knows which thread wrote to the vector, and which ones read it: so that a read which nothing
    /// orders after the write is found, and a free which nothing orders after a read. None outside
    /// of an exploration.
    accesses: Option<UnsafeCell<()>>,
}

/// A vector.
pub struct KVVec<T>(NonNull<Buffer<T>>);

// SAFETY: In an exploration all threads are coroutines of one.
unsafe impl<T: Send> Send for KVVec<T> {}
// SAFETY: As above.
unsafe impl<T: Sync> Sync for KVVec<T> {}

impl<T> KVVec<T> {
    /// Creates an empty vector.
    pub fn with_capacity(capacity: usize, flags: Flags) -> Result<Self, AllocError> {
        flags.check_context();
        if model::allocation_fails() {
            return Err(AllocError);
        }
        model::count_allocation();
        Ok(Self(NonNull::from(Box::leak(Box::new(Buffer {
            values: Vec::with_capacity(capacity),
            is_freed: false,
            accesses: (model::is_exploring() && model::has_dependencies())
                .then(|| UnsafeCell::new(())),
        })))))
    }

    fn buffer(&self) -> &Buffer<T> {
        model::check_alive(core::ptr::from_ref(self).addr());
        // SAFETY: A freed buffer stays till the end of the execution.
        let buffer = unsafe { self.0.as_ref() };

        assert!(!buffer.is_freed, "a vector is used after it was freed");
        buffer
    }

    fn note_write(&self) {
        if let (false, Some(accesses)) = (model::is_in_callback(), &self.buffer().accesses) {
            accesses.with_mut(|_| ());
        }
    }

    /// Adds a value at the end, or gives it back.
    pub fn push_within_capacity(&mut self, value: T) -> Result<(), T> {
        self.note_write();
        // SAFETY: The vector is owned, and was not freed.
        let values = unsafe { &mut self.0.as_mut().values };

        if values.len() == values.capacity() {
            return Err(value);
        }
        values.push(value);
        Ok(())
    }

    /// Returns for how many values there is room.
    pub fn capacity(&self) -> usize {
        self.buffer().values.capacity()
    }
}

impl<T> Deref for KVVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let buffer = self.buffer();

        if let (false, Some(accesses)) = (model::is_in_callback(), &buffer.accesses) {
            accesses.with(|_| ());
        }
        &buffer.values
    }
}

impl<T> Drop for KVVec<T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        // It may be in memory of `vmalloc()`.
        model::check_may_sleep("a vector is freed");
        self.note_write();
        let ptr = self.0.as_ptr();

        // SAFETY: The vector is owned, and was not freed.
        drop(unsafe {
            (*ptr).is_freed = true;
            // What it pointed to stays in place till the end.
            (*ptr).values.drain(..)
        });
        // SAFETY: As above.
        let values = unsafe { &(*ptr).values };

        model::retire(
            values.as_ptr().addr(),
            values.capacity() * size_of::<T>(),
            ptr.cast(),
            give_back::<Buffer<T>>,
        );
    }
}
