// SPDX-License-Identifier: GPL-2.0

//! What the machine must be able to show, and what it must not: or else that nothing fails would
//! mean nothing.

use kernel::{
    model::{
        self,
        Options, //
    },
    sync::{
        atomic::{
            Atomic,
            Full,
            Relaxed,
            Release, //
        },
        rcu, //
    }, //
};
use std::{
    collections::BTreeSet,
    rc::Rc,
    sync::{
        Arc,
        Mutex, //
    }, //
};

type Values = [Atomic<usize>; 2];

/// Returns all pairs of what two threads read.
fn outcomes(bodies: [fn(&Values) -> usize; 2]) -> BTreeSet<[usize; 2]> {
    let all = Arc::new(Mutex::new(BTreeSet::new()));

    model::check(Options::default(), {
        let all = all.clone();
        move || {
            let values = Rc::new([Atomic::new(0), Atomic::new(0)]);
            let threads = bodies.map(|body| {
                let values = values.clone();
                model::spawn(move || body(&values))
            });
            let outcome = threads.map(|thread| thread.join());

            all.lock().unwrap().insert(outcome);
        }
    });
    let all = all.lock().unwrap();
    all.clone()
}

#[test]
fn store_buffering() {
    let relaxed = outcomes([
        |values| {
            values[0].fetch_add(1, Relaxed);
            values[1].load(Relaxed)
        },
        |values| {
            values[1].fetch_add(1, Relaxed);
            values[0].load(Relaxed)
        },
    ]);
    let full = outcomes([
        |values| {
            values[0].fetch_add(1, Full);
            values[1].load(Relaxed)
        },
        |values| {
            values[1].fetch_add(1, Full);
            values[0].load(Relaxed)
        },
    ]);

    assert_eq!(relaxed, [[0, 0], [0, 1], [1, 0], [1, 1]].into());
    assert_eq!(full, [[0, 1], [1, 0], [1, 1]].into());
}

/// A `cmpxchg` that succeeds orders what comes before it and what comes after, also on its own.
#[test]
fn full_cmpxchg() {
    let full = outcomes([
        |values| {
            values[0].store(1, Relaxed);
            let _ = values[1].cmpxchg(0, 2, Full);
            0
        },
        |values| {
            let seen = values[1].cmpxchg(2, 3, Full).is_ok();
            usize::from(seen) * 2 + values[0].load(Relaxed)
        },
    ]);

    assert_eq!(full, [[0, 0], [0, 1], [0, 3]].into());
}

#[test]
fn message_passing() {
    let reader = |values: &Values| values[1].load(Relaxed) * 2 + values[0].load(Relaxed);
    let relaxed = outcomes([
        |values| {
            values[0].store(1, Relaxed);
            values[1].store(1, Relaxed);
            0
        },
        reader,
    ]);
    // A volatile read of a number orders nothing.
    let release = outcomes([
        |values| {
            values[0].store(1, Relaxed);
            values[1].store(1, Release);
            0
        },
        reader,
    ]);

    assert_eq!(relaxed, [[0, 0], [0, 1], [0, 2], [0, 3]].into());
    assert_eq!(release, relaxed);
}

/// Nested readers count as one that ends with the last.
#[test]
#[should_panic(expected = "used after it was freed")]
fn read_after_grace_period() {
    use kernel::{
        alloc::flags::GFP_KERNEL,
        prelude::*, //
    };

    model::alone(|| {
        let slot = rcu::RcuSlot::<KVVec<u32>>::new();
        let value = KVVec::with_capacity(1, GFP_KERNEL).unwrap();
        let new = rcu::RcuBox::new(value, GFP_KERNEL).ok().unwrap();
        let outer = rcu::read_lock();
        let seen = slot.read(&outer);

        assert!(slot.replace(&seen, new).is_ok());
        // What a compiler that does not know of lifetimes would accept.
        let value: *const KVVec<u32> = slot.read(&outer).get().unwrap();
        drop(slot.close());
        // SAFETY: The guard is held.
        assert!(unsafe { &*value }.is_empty());
        drop(outer);
        // SAFETY: None: this is what must be found out.
        let _ = unsafe { &*value }.len();
    });
}

/// A vector may be in memory of `vmalloc()`, and freeing that sleeps.
#[test]
#[should_panic(expected = "a vector is freed under the read-side lock of RCU")]
fn free_under_read_side_lock() {
    use kernel::{
        alloc::flags::GFP_KERNEL,
        prelude::*, //
    };

    model::alone(|| {
        let vector = KVVec::<u32>::with_capacity(1, GFP_KERNEL).unwrap();
        let _guard = rcu::read_lock();

        drop(vector);
    });
}
