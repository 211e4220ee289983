// SPDX-License-Identifier: GPL-2.0

//! The machine on which the crate runs here: threads, memory, grace periods.
//!
//! [`check`] explores the interleavings of a few threads, and for each the values that weakly
//! ordered loads may return, with loom. [`alone`] runs one thread without.
//!
//! # What is modelled
//!
//! - Atomics: see [`atomic`](crate::sync::atomic).
//! - RCU: a callback is called as soon as everybody who was in a read-side critical section when it
//!   was queued has left, which is the earliest time at which the kernel might call it. Who enters
//!   one later sees what came before. As that orders much, everything is explored once more with
//!   grace periods that begin and end only when there is one thread again.
//! - Freed memory: it is not used again in the same execution, and whoever uses it is found out.
//! - Sleeping: under the read-side lock, nobody may allocate with flags that allow it, or free a
//!   vector, whose memory may be vmalloc()'s. A callback may free one: the kernel defers it then.
//! - Leaks: at the end of an execution all is freed.
//! - Plain memory that is published, which is in vectors: it must be written before it is read, and
//!   read before it is freed (other than by a callback), in the sense of happens-before.
//!
//! # What is not
//!
//! - Dependencies as such: a read of a pointer is an acquire, and so orders other accesses, too.
//!   Therefore everything is explored once more, with three preemptions at most, where it orders
//!   nothing at all, not even what is read through the pointer: save for the tests that need this.
//!   Plain memory is not watched then.
//! - Loads that return what is stored only later (load buffering): loom has none.
//! - Two `smp_mb()` also order plain accesses here, as if the second one had read from the first;
//!   and so does the one before a `cmpxchg` that fails.
//! - An address that is freed and allocated again.
//! - Lock and unlock of RCU, queueing, reference counts and allocations are no points at which
//!   threads are switched: what follows from their order alone is found only where an atomic access
//!   beside them conflicts.
//! - Interrupts, preemption, other reasons not to sleep.
//! - A thread that reads an atomic and then writes it, against another one that has read it before:
//!   loom remembers only the last access, and does not try the write first. Hence each test is
//!   explored once for each of its threads, which then is the first one to run.

use core::{
    cell::{
        Cell,
        RefCell, //
    },
    ffi::c_void, //
};
use std::{
    alloc::{
        alloc_zeroed,
        dealloc,
        Layout, //
    },
    collections::{
        BTreeMap,
        BTreeSet,
        HashMap, //
    },
    rc::Rc,
    sync::{
        atomic::{
            AtomicBool,
            AtomicU32,
            AtomicU64,
            Ordering, //
        },
        Arc, //
    }, //
};

use loom::{
    sync::atomic::{
        fence,
        AtomicUsize, //
    },
    thread::ThreadId, //
};

use crate::{
    bindings::{
        callback_head,
        MAX_NUMNODES,
        SHRINKER_UNIT_SIZE, //
    },
    sync::atomic::{
        Atomic,
        Full,
        Relaxed, //
    }, //
};

/// An atomic of loom's. All are made before there is a second thread: loom wants the making to be
/// ordered before each access, while zeroed memory needs no such thing.
pub type Object = Rc<AtomicUsize>;

type Callback = unsafe extern "C" fn(*mut callback_head);

/// A callback that waits for readers.
struct Pending {
    readers: BTreeSet<u64>,
    head: *mut callback_head,
    callback: Callback,
}

/// What may differ from one machine to another.
#[derive(Clone, Copy)]
struct Machine {
    /// Grace periods begin and end only when there is one thread again.
    is_late: bool,
    /// What is read through a pointer comes after the pointer.
    has_dependencies: bool,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            is_late: false,
            has_dependencies: true,
        }
    }
}

/// One execution.
#[derive(Default)]
struct Execution {
    is_running: bool,
    /// Differs from that of all others, so that atomics know whose their object is.
    number: u32,
    /// None if there is only one thread.
    objects: Option<Vec<Object>>,
    nr_used: usize,
    /// Threads besides the first one.
    nr_threads: usize,
    /// Each with its thread; none where there is only one.
    readers: BTreeMap<u64, Option<ThreadId>>,
    last_reader: u64,
    pending: Vec<Pending>,
    machine: Machine,
    /// Grace periods that began while there were threads, and how many of them each thread knows.
    nr_grace_periods: usize,
    known_grace_periods: HashMap<ThreadId, usize>,
    /// Whether somebody waits for grace periods.
    waits: bool,
    /// Whether there was a grace period to wait for while there were threads.
    was_queued: bool,
    is_in_callback: bool,
    /// What was freed: address and size.
    freed: BTreeMap<usize, usize>,
    /// How it is given back at the end.
    give_back: Vec<(*mut (), unsafe fn(*mut ()))>,
    nr_allocated: isize,
    /// How many allocations succeed before one fails.
    nr_successes: Option<usize>,
    nr_possible_nodes: usize,
}

thread_local! {
    static EXECUTION: RefCell<Execution> = RefCell::default();
    /// Bit k: node k has memory.
    static NODES: Atomic<usize> = const { Atomic::new(1) };
    /// Whether they change.
    static NODES_CHANGE: Cell<bool> = const { Cell::new(false) };
}

fn with<R>(f: impl FnOnce(&mut Execution) -> R) -> R {
    EXECUTION.with(|execution| f(&mut execution.borrow_mut()))
}

/// What to explore.
#[derive(Clone, Copy)]
pub struct Options {
    /// How many atomics are accessed.
    pub nr_objects: usize,
    /// How often, at most, a thread is preempted, over all; none for no limit.
    pub preemptions: Option<usize>,
    /// Whether nodes get memory meanwhile.
    pub nodes_change: bool,
    /// Whether it is about what is read through pointers.
    pub needs_dependencies: bool,
    /// Whether somebody waits for grace periods, and then sees all that readers did which had left
    /// before.
    pub waits: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            nr_objects: 64,
            preemptions: None,
            nodes_change: false,
            needs_dependencies: false,
            waits: false,
        }
    }
}

fn begin(objects: Option<Vec<Object>>, nr_nodes: usize, nr_possible_nodes: usize) {
    static LAST: AtomicU32 = AtomicU32::new(0);

    // What a failed execution left behind belongs to it.
    std::mem::forget(EXECUTION.take());
    NODES.with(|nodes| nodes.store((1 << nr_nodes) - 1, Relaxed));
    with(|execution| {
        execution.is_running = true;
        execution.number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        execution.objects = objects;
        execution.nr_possible_nodes = nr_possible_nodes;
    });
}

fn end() {
    assert!(with(|execution| execution.readers.is_empty()));
    assert!(with(|execution| execution.pending.is_empty()));
    let nr = with(|execution| execution.nr_allocated);
    assert_eq!(nr, 0, "{nr} allocations are never freed");

    for (ptr, give_back) in EXECUTION.take().give_back {
        // SAFETY: It was freed, and nobody is left.
        unsafe { give_back(ptr) };
    }
}

/// Runs `f` in every interleaving. `f` makes what it needs, and frees it.
///
/// If something is freed by RCU meanwhile, once more with grace periods that end late; and once
/// more without dependencies.
pub fn check(options: Options, f: impl Fn() + Sync + Send + 'static) {
    let f = Arc::new(f);
    let is_late = explore(&options, Machine::default(), f.clone());

    if is_late {
        let has_dependencies = true;
        explore(
            &options,
            Machine {
                is_late,
                has_dependencies,
            },
            f.clone(),
        );
    }
    if !options.needs_dependencies {
        let has_dependencies = false;
        let weak = Options {
            preemptions: Some(options.preemptions.map_or(3, |bound| bound.min(3))),
            ..options
        };
        explore(
            &weak,
            Machine {
                is_late,
                has_dependencies,
            },
            f,
        );
    }
}

/// Returns whether it makes a difference when grace periods end.
fn explore(options: &Options, machine: Machine, f: Arc<impl Fn() + Sync + Send + 'static>) -> bool {
    let mut builder = loom::model::Builder::new();
    let nr_executions = Arc::new(AtomicU64::new(0));
    let was_queued = Arc::new(AtomicBool::new(false));
    let Options {
        nr_objects,
        nodes_change,
        waits,
        ..
    } = *options;
    // With a limit, one from the environment counts if it is lower.
    let bound = match (options.preemptions, builder.preemption_bound) {
        (Some(ours), Some(theirs)) => Some(ours.min(theirs)),
        (ours, theirs) => ours.or(theirs),
    };

    builder.max_branches = 100_000;
    builder.preemption_bound = bound;
    builder.check({
        let (nr_executions, was_queued) = (nr_executions.clone(), was_queued.clone());
        move || {
            nr_executions.fetch_add(1, Ordering::Relaxed);
            NODES_CHANGE.set(nodes_change);
            let objects = (0..nr_objects).map(|_| Rc::new(AtomicUsize::new(0)));
            // Now, and not while the state is borrowed.
            let objects = objects.collect();

            begin(Some(objects), 1, if nodes_change { 2 } else { 1 });
            with(|execution| {
                execution.machine = machine;
                execution.waits = waits;
            });
            f();
            if with(|execution| execution.was_queued) {
                was_queued.store(true, Ordering::Relaxed);
            }
            end();
        }
    });

    let nr = nr_executions.load(Ordering::Relaxed);
    let bound = bound.map_or("any number of".to_string(), |bound| {
        format!("up to {bound}")
    });
    let late = if machine.is_late {
        ", late grace periods"
    } else {
        ""
    };
    let weak = if machine.has_dependencies {
        ""
    } else {
        ", no dependencies"
    };
    println!("explored {nr} executions, {bound} preemptions{late}{weak}");
    was_queued.load(Ordering::Relaxed)
}

/// Runs `f` on one thread. There are two nodes.
pub fn alone<R>(f: impl FnOnce() -> R) -> R {
    NODES_CHANGE.set(false);
    begin(None, 2, 3);
    let result = f();
    end();
    result
}

/// Whether this is an exploration.
pub fn is_exploring() -> bool {
    with(|execution| execution.objects.is_some())
}

/// A lock of C. Outside of an exploration there is nobody to wait for.
pub struct Lock(Option<loom::sync::Mutex<()>>);

impl Lock {
    /// Creates a lock that nobody has.
    pub fn new() -> Self {
        Self(is_exploring().then(|| loom::sync::Mutex::new(())))
    }

    /// Calls `f` with the lock held.
    pub fn hold<R>(&self, f: impl FnOnce() -> R) -> R {
        let _guard = self.0.as_ref().map(|lock| lock.lock().unwrap());

        f()
    }
}

/// Whether reads of pointers are acquires, and plain memory is watched.
pub(crate) fn has_dependencies() -> bool {
    with(|execution| execution.machine.has_dependencies)
}

/// A thread.
pub struct Thread<T>(loom::thread::JoinHandle<T>);

/// Starts a thread.
pub fn spawn<T: 'static>(f: impl FnOnce() -> T + 'static) -> Thread<T> {
    with(|execution| execution.nr_threads += 1);
    Thread(loom::thread::spawn(f))
}

impl<T> Thread<T> {
    /// Waits for the thread to end.
    pub fn join(self) -> T {
        let result = self.0.join().expect("a thread panicked");

        with(|execution| execution.nr_threads -= 1);
        call_pending();
        result
    }
}

/// Runs each of `bodies` in a thread, the last one in this one, and waits for all.
pub fn race<const N: usize>(bodies: [Box<dyn FnOnce()>; N]) {
    let mut bodies = Vec::from(bodies);
    let last = bodies.pop();
    let threads: Vec<_> = bodies.into_iter().map(spawn).collect();

    if let Some(last) = last {
        last();
    }
    for thread in threads {
        thread.join();
    }
}

/// Returns loom's atomic for the one at `address`, which keeps in `slot` which one that is. None if
/// there is only one thread, or was only one so far, and a load is all that is wanted: then the
/// value is what it was at first.
pub(crate) fn object(address: usize, slot: &AtomicU64, is_load: bool) -> Option<Object> {
    check_alive(address);
    with(|execution| {
        let objects = execution.objects.as_ref()?;
        let (number, at) = {
            let slot = slot.load(Ordering::Relaxed);
            ((slot >> 32) as u32, slot as u32 as usize)
        };

        if number == execution.number {
            return Some(objects[at].clone());
        }
        if is_load && execution.nr_threads == 0 {
            return None;
        }
        let at = execution.nr_used;
        let object = objects.get(at).expect("more atomics than nr_objects");
        execution.nr_used += 1;
        slot.store(
            u64::from(execution.number) << 32 | at as u64,
            Ordering::Relaxed,
        );
        Some(object.clone())
    })
}

/// Fails if `address` was freed.
pub(crate) fn check_alive(address: usize) {
    let is_freed = with(|execution| {
        let (&start, &len) = execution.freed.range(..=address).next_back()?;
        (address < start + len).then_some(())
    });

    assert!(is_freed.is_none(), "memory is used after it was freed");
}

pub(crate) fn count_allocation() {
    with(|execution| execution.nr_allocated += 1);
}

/// Notes that memory was freed, and how to give it back.
pub(crate) fn retire(address: usize, size: usize, ptr: *mut (), give_back: unsafe fn(*mut ())) {
    with(|execution| {
        execution.nr_allocated -= 1;
        if size != 0 {
            execution.freed.insert(address, size);
        }
        execution.give_back.push((ptr, give_back));
    });
}

/// Lets the allocation after the next `nr` fail; none for no failure.
pub fn fail_after(nr: Option<usize>) {
    with(|execution| execution.nr_successes = nr);
}

pub(crate) fn allocation_fails() -> bool {
    with(|execution| match execution.nr_successes.as_mut() {
        None => false,
        Some(0) => true,
        Some(nr) => {
            *nr -= 1;
            false
        }
    })
}

/// The layout of what [`zalloc`] allocates.
const UNIT: Layout = match Layout::from_size_align(SHRINKER_UNIT_SIZE as usize, 64) {
    Ok(layout) => layout,
    Err(_) => panic!("no layout"),
};

pub(crate) fn zalloc() -> *mut c_void {
    if allocation_fails() {
        return core::ptr::null_mut();
    }
    count_allocation();
    // SAFETY: The size is not zero.
    unsafe { alloc_zeroed(UNIT).cast() }
}

pub(crate) fn free(ptr: *mut c_void) {
    unsafe fn give_back(ptr: *mut ()) {
        // SAFETY: It comes from `zalloc`.
        unsafe { dealloc(ptr.cast(), UNIT) };
    }
    check_alive(ptr.addr());
    retire(ptr.addr(), UNIT.size(), ptr.cast(), give_back);
}

/// A reader that a grace period does not wait for sees all that came before it: so there is a full
/// barrier on either side.
fn follow_grace_periods() {
    let nr = with(|execution| execution.nr_grace_periods);

    if nr != 0 {
        let thread = loom::thread::current().id();
        let known = with(|execution| execution.known_grace_periods.insert(thread, nr));
        if known != Some(nr) {
            fence(Ordering::SeqCst);
        }
    }
}

pub(crate) fn rcu_read_lock() -> u64 {
    let thread = is_exploring().then(|| loom::thread::current().id());

    follow_grace_periods();
    with(|execution| {
        execution.last_reader += 1;
        execution.readers.insert(execution.last_reader, thread);
        execution.last_reader
    })
}

pub(crate) fn rcu_read_unlock(reader: u64) {
    if std::thread::panicking() {
        return;
    }
    // Pairs with that of who waits for a grace period, now or later.
    if with(|execution| execution.waits) {
        fence(Ordering::SeqCst);
    }
    with(|execution| {
        execution.readers.remove(&reader);
        for pending in &mut execution.pending {
            pending.readers.remove(&reader);
        }
    });
    call_pending();
}

/// Fails if `what` happens under the read-side lock of this thread, and not in a callback.
pub(crate) fn check_may_sleep(what: &str) {
    let thread = is_exploring().then(|| loom::thread::current().id());
    let may_sleep = with(|execution| {
        execution.is_in_callback || execution.readers.values().all(|&holder| holder != thread)
    });

    assert!(may_sleep, "{what} under the read-side lock of RCU");
}

pub(crate) fn call_rcu(head: *mut callback_head, callback: Callback) {
    if std::thread::panicking() {
        return;
    }
    let is_race = with(|execution| {
        execution.was_queued |= execution.nr_threads != 0;
        execution.nr_threads != 0 && !execution.machine.is_late
    });
    if is_race {
        fence(Ordering::SeqCst);
        with(|execution| execution.nr_grace_periods += 1);
    }
    with(|execution| {
        let readers = execution.readers.keys().copied().collect();
        execution.pending.push(Pending {
            readers,
            head,
            callback,
        });
    });
    call_pending();
}

/// Waits until everybody who is in a read-side critical section now has left. What they did is
/// seen afterwards, and who enters one later sees what came before.
pub(crate) fn synchronize_rcu() {
    check_may_sleep("waiting for a grace period");
    fence(Ordering::SeqCst);
    let waits_for: BTreeSet<u64> = with(|execution| {
        assert!(
            execution.waits || execution.nr_threads == 0,
            "the options do not say that somebody waits"
        );
        execution.nr_grace_periods += 1;
        execution.readers.keys().copied().collect()
    });

    while with(|execution| {
        let mut waits_for = waits_for.iter();

        waits_for.any(|reader| execution.readers.contains_key(reader))
    }) {
        loom::thread::yield_now();
    }
    fence(Ordering::SeqCst);
}

/// Calls the callbacks that wait for nobody any more.
fn call_pending() {
    loop {
        let next = with(|execution| {
            if execution.nr_threads != 0 && execution.machine.is_late {
                return None;
            }
            let at = execution
                .pending
                .iter()
                .position(|pending| pending.readers.is_empty())?;
            execution.is_in_callback = true;
            Some(execution.pending.remove(at))
        });
        let Some(pending) = next else {
            return;
        };
        // SAFETY: Nobody is left who was a reader when it was queued.
        unsafe { (pending.callback)(pending.head) };
        with(|execution| execution.is_in_callback = false);
    }
}

/// Whether a callback runs. What it does is ordered after all readers by the grace period, which
/// loom does not know of.
pub(crate) fn is_in_callback() -> bool {
    with(|execution| execution.is_in_callback)
}

pub(crate) fn possible_nodes() -> usize {
    (1 << with(|execution| execution.nr_possible_nodes)) - 1
}

pub(crate) fn nodes_with_memory() -> usize {
    if is_exploring() && !NODES_CHANGE.get() {
        return 1;
    }
    NODES.with(|nodes| nodes.load(Relaxed))
}

/// Adds a node to those with memory, fully ordered, as `shrinker_node_callback()` does.
pub fn add_node(node: i32) {
    NODES.with(|nodes| nodes.fetch_add(1 << node, Full));
}

pub(crate) fn next_node(last: i32, nodes: usize) -> i32 {
    (last + 1..MAX_NUMNODES as i32)
        .find(|node| nodes >> node & 1 != 0)
        .unwrap_or(MAX_NUMNODES as i32)
}
