// SPDX-License-Identifier: GPL-2.0

//! Which structures of C a type of Rust stands for.
//!
//! C declares what it embeds in its own objects, and Rust accesses it. Both declarations must agree
//! on each field: its name here, its name there, its place, and what is in it. It is checked when
//! the crate is compiled.

use kernel::{
    bindings::atomic_t,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            AtomicType, //
        },
        rcu::RcuSlot, //
    }, //
};

use crate::bits::AtomicBits;

/// A type that has the layout of the C type `C`, and the same meaning.
pub(crate) trait Mirrors<C>: Sized {
    /// Does not compile if the layouts differ.
    const CHECK: () = {
        assert!(size_of::<Self>() == size_of::<C>());
        assert!(align_of::<Self>() == align_of::<C>());
    };
}

impl<T: AtomicType> Mirrors<T> for Atomic<T> {}
impl Mirrors<atomic_t> for Atomic<i32> {}
impl Mirrors<c_ulong> for AtomicBits {}
impl<T: Send + Sync + 'static> Mirrors<*mut c_void> for RcuSlot<T> {}

impl<T: Mirrors<C>, C, const N: usize> Mirrors<[C; N]> for [T; N] {
    const CHECK: () = T::CHECK;
}

/// Checks a field, by how to get from the structures to it.
pub(crate) const fn check_field<Rust, C, T: Mirrors<U>, U>(
    _rust: fn(&Rust) -> &T,
    _c: fn(&C) -> &U,
) {
    T::CHECK
}

/// Casts a pointer to a field of a C object to what Rust keeps in that field: zeroed with the
/// object, and valid then. Does not compile if their layouts differ.
pub(crate) const fn cast_field<T: Mirrors<C>, C>(field: *const C) -> *const T {
    const { T::CHECK }
    field.cast()
}

/// Says that a Rust structure [`Mirrors`] a C structure, and which field is which: `Rust is C {
/// field: c_field, ... }`. Does not compile if it doesn't, or if fields are missing.
macro_rules! mirrors {
    ($rust:ident is $c:path { $($field:ident: $c_field:ident),+ $(,)? }) => {
        impl $crate::layout::Mirrors<$c> for $rust {
            const CHECK: () = {
                use ::core::mem::{align_of, offset_of, size_of};
                use $crate::layout::check_field;

                assert!(size_of::<$rust>() == size_of::<$c>());
                assert!(align_of::<$rust>() == align_of::<$c>());
                $(
                    assert!(offset_of!($rust, $field) == offset_of!($c, $c_field));
                    check_field(|rust: &$rust| &rust.$field, |c: &$c| &c.$c_field);
                )+

                // No field is left out.
                let _ = |rust: &$rust, c: &$c| {
                    let $rust { $($field: _),+ } = rust;
                    let $c { $($c_field: _),+ } = c;
                };
            };
        }

        // Also where nothing uses it.
        const _: () = <$rust as $crate::layout::Mirrors<$c>>::CHECK;
    };
}

pub(crate) use mirrors;
