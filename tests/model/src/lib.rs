// SPDX-License-Identifier: GPL-2.0

//! The crate `rust/mm_reclaim`, on the host and under a model checker.
//!
//! The files are the ones that the kernel builds, not copies. What they take from the kernel crate
//! comes from the crate in `kernel/`; its module `model` tells what is modelled, and what isn't.
//! Only two modules of the boundary to C are other ones here: [`memcg`] and [`shrinker`]; and
//! [`layout`], as there is no C whose layout could be compared.

#![deny(unsafe_op_in_unsafe_fn)]
// Without `entry`, the entry points for C, some is not called.
#![allow(dead_code)]
#![cfg(test)]

include!("modules.rs");

mod explore;
mod histories;
mod litmus;
