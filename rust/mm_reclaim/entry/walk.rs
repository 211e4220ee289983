// SPDX-License-Identifier: GPL-2.0

//! The entry points of walks, and of priorities and soft limits, which choose whom reclaim visits.
//!
//! Nothing is decided here: pointers become types, numbers priorities, and what a walk arrived at
//! becomes a pointer.

use core::{
    cell::Cell,
    ptr::{
        self,
        NonNull, //
    }, //
};
use kernel::{
    bindings::{
        self,
        mem_cgroup,
        mem_cgroup_reclaim_cookie, //
    },
    prelude::*, //
};

use crate::{
    iter::{
        self,
        Cookie,
        Group,
        HasParent,
        Order,
        PreOrder,
        Step,
        Verdict, //
    },
    memcg::{
        self,
        MemCgroup,
        ReclaimIter, //
    },
    reclaimable::{
        has_only_pages,
        unlist_if_empty,
        ReclaimableOrder, //
    },
    sys::{
        self,
        Node,
        VmEvent, //
    },
    verify,
    walk::next_shrinkable, //
};

/// Returns the memcg that a walk begins with: `root`, or the root of all if it is null; none early
/// at boot.
///
/// # Safety
///
/// `root` must be null, or valid for `'a`.
unsafe fn top<'a>(root: *mut mem_cgroup) -> Option<&'a MemCgroup> {
    if root.is_null() {
        return MemCgroup::root();
    }
    // SAFETY: As the safety requirements say.
    Some(unsafe { MemCgroup::from_raw(root) })
}

/// Walks a hierarchy of memcgs: `mem_cgroup_iter()` for any order and filter, and any position that
/// is kept for each memcg and node.
///
/// `pause` lets others run after a number of memcgs that `filter` refused. Does not sleep unless
/// `pause` does.
///
/// # Safety
///
/// As for [`mem_cgroup_iter_cond`].
unsafe fn iter_next(
    root: *mut mem_cgroup,
    prev: *mut mem_cgroup,
    reclaim: *mut mem_cgroup_reclaim_cookie,
    position: impl for<'a> FnOnce(&'a MemCgroup, Node) -> ReclaimIter<'a>,
    order: impl Order<MemCgroup>,
    filter: impl FnMut(&MemCgroup) -> Verdict,
    pause: impl FnMut(),
) -> *mut mem_cgroup {
    // Without memcgs, a walk doesn't begin.
    if prev.is_null() && memcg::is_disabled() {
        return ptr::null_mut();
    }
    // SAFETY: The caller keeps `root` valid.
    let Some(root) = (unsafe { top(root) }) else {
        return ptr::null_mut();
    };

    let shared;
    let cookie = if reclaim.is_null() {
        None
    } else {
        // SAFETY: The caller vouches for the cookie, which names an existing node, and uses it
        // for nothing else meanwhile.
        unsafe {
            shared = position(root, Node::from_raw((*(*reclaim).pgdat).node_id));
            Some(Cookie {
                shared: &shared,
                generation: &mut (*reclaim).generation,
            })
        }
    };

    // SAFETY: The caller has a reference on `prev`.
    let prev_ref = (!prev.is_null()).then(|| unsafe { MemCgroup::from_raw(prev) });
    let next = into_raw(
        root,
        iter::next(root, prev_ref, cookie, order, filter, pause),
    );

    // SAFETY: The caller gives `prev` back, and doesn't use it any more.
    unsafe { iter_put(root, prev) };
    next
}

/// How many subtrees a walk skipped as nothing is charged to them; counted when it is dropped.
#[derive(Default)]
struct Skipped(Cell<usize>);

impl Skipped {
    fn add_one(&self) {
        self.0.set(self.0.get().wrapping_add(1));
    }
}

impl Drop for Skipped {
    fn drop(&mut self) {
        if self.0.get() != 0 {
            sys::count(VmEvent::MemcgSkip, self.0.get());
        }
    }
}

/// Returns how to find the position that a cookie names, or that of the memcg and node.
///
/// # Safety
///
/// `reclaim` must be null or valid. What it names must stay valid, be used for walks that begin
/// with one memcg only, and be one from which `invalidate_reclaim_iterators()` takes memcgs back.
unsafe fn position_named_by(
    reclaim: *mut mem_cgroup_reclaim_cookie,
) -> impl for<'a> FnOnce(&'a MemCgroup, Node) -> ReclaimIter<'a> {
    // SAFETY: The caller vouches for it.
    let named = unsafe { reclaim.as_ref() }.and_then(|reclaim| NonNull::new(reclaim.iter));

    move |root, node| match named {
        None => root.reclaim_iter(node),
        // SAFETY: The caller of this function vouches for the position.
        Some(position) => unsafe { root.other_iter(position) },
    }
}

/// Returns whether a walk below `root` finds nothing to reclaim in a memcg and below: nothing is
/// charged. The memcg that it begins with is visited all the same.
fn is_uncharged_below(memcg: &MemCgroup, root: Option<&MemCgroup>) -> bool {
    !root.is_some_and(|root| ptr::eq(memcg, root)) && memcg.usage() == 0
}

/// Returns what a walk below `root` arrived at, with the reference that it got.
fn into_raw(root: &MemCgroup, step: Option<Step<MemCgroup>>) -> *mut mem_cgroup {
    match step {
        None => ptr::null_mut(),
        Some(Step::Root) => root.as_raw(),
        Some(Step::Descendant(memcg)) => memcg.into_raw(),
    }
}

/// Gives a memcg back that a walk below `root` returned.
///
/// # Safety
///
/// `prev` must be null or come from a walk below `root`, and must not be used any more.
unsafe fn iter_put(root: &MemCgroup, prev: *mut mem_cgroup) {
    if !prev.is_null() && prev != root.as_raw() {
        // SAFETY: The walk got a reference for everything that it returned but `root`.
        unsafe { bindings::mem_cgroup_put(prev) };
    }
}

/// Returns what a filter of C says about a memcg; null lets all pass.
///
/// # Safety
///
/// `filter` must be null, or safe to call with any memcg and `arg`.
unsafe fn verdict_of(
    filter: bindings::mem_cgroup_filter_fn,
    memcg: &MemCgroup,
    arg: *mut c_void,
) -> Verdict {
    // SAFETY: The caller vouches for `filter` and `arg`.
    let verdict = filter.map_or(0, |filter| unsafe { filter(memcg.as_raw(), arg) });

    match verdict as u32 {
        bindings::mem_cgroup_filter_MEM_CGROUP_SKIP => Verdict::Skip,
        bindings::mem_cgroup_filter_MEM_CGROUP_SKIP_TREE => Verdict::SkipTree,
        _ => Verdict::Visit,
    }
}

/// Walks a hierarchy of memcgs, alone or shared with other reclaimers of a node.
///
/// See the kernel-doc of the C function of this name in mm/memcontrol.c. Does not sleep.
///
/// # Safety
///
/// As for [`mem_cgroup_iter_cond`].
#[export]
pub(crate) unsafe extern "C" fn mem_cgroup_iter(
    root: *mut mem_cgroup,
    prev: *mut mem_cgroup,
    reclaim: *mut mem_cgroup_reclaim_cookie,
) -> *mut mem_cgroup {
    let position = MemCgroup::reclaim_iter;
    let filter = |_: &MemCgroup| Verdict::Visit;

    // SAFETY: As for this function.
    unsafe { iter_next(root, prev, reclaim, position, PreOrder, filter, || ()) }
}

/// Walks the memcgs of a hierarchy that pass a filter: [`mem_cgroup_iter`] for a part of it.
///
/// `filter` is called with `arg`, under RCU, before a reference is taken. Does not sleep.
///
/// # Safety
///
/// - `root` must be null, for the root of all, or be kept alive by the caller.
/// - `prev` must be null, or come from the call before with the same `root`. It is given back.
/// - `reclaim` must be null, or valid and used by this walk only.
/// - `filter` must be null, or safe to call with any memcg and `arg`, and must not sleep.
#[export]
pub(crate) unsafe extern "C" fn mem_cgroup_iter_cond(
    root: *mut mem_cgroup,
    prev: *mut mem_cgroup,
    reclaim: *mut mem_cgroup_reclaim_cookie,
    filter: bindings::mem_cgroup_filter_fn,
    arg: *mut c_void,
) -> *mut mem_cgroup {
    let position = MemCgroup::reclaim_iter;
    // SAFETY: The caller vouches for `filter` and `arg`.
    let filter = |memcg: &MemCgroup| unsafe { verdict_of(filter, memcg, arg) };

    // SAFETY: As for this function.
    unsafe { iter_next(root, prev, reclaim, position, PreOrder, filter, || ()) }
}

/// Walks the memcgs of a hierarchy to which anything is charged: [`mem_cgroup_iter`] without those
/// subtrees whose `memory` counter reads zero. `root` itself is always visited.
///
/// If `reclaim` names a position, the walk is shared with those at that one. May sleep.
///
/// # Safety
///
/// As for [`mem_cgroup_iter_cond`]. A position in `reclaim` must come from `memcg_priority_iter()`,
/// and `root` be the root of all then.
#[export]
pub(crate) unsafe extern "C" fn mem_cgroup_iter_charged(
    root: *mut mem_cgroup,
    prev: *mut mem_cgroup,
    reclaim: *mut mem_cgroup_reclaim_cookie,
) -> *mut mem_cgroup {
    // SAFETY: It is null or valid, and what it names comes from where this function says.
    let position = unsafe { position_named_by(reclaim) };
    let pause = sys::cond_resched;
    // SAFETY: The caller keeps `root` valid.
    let top = unsafe { top(root) };
    let skipped = Skipped::default();
    let filter = |memcg: &MemCgroup| {
        if is_uncharged_below(memcg, top) {
            skipped.add_one();
            Verdict::SkipTree
        } else {
            Verdict::Visit
        }
    };

    // SAFETY: As for this function.
    unsafe { iter_next(root, prev, reclaim, position, PreOrder, filter, pause) }
}

/// Walks the memcgs of a hierarchy that have something to reclaim on a node without the multi-gen
/// LRU: below the root of all those that have pages or something to shrink there, by ids; below
/// another one, as [`mem_cgroup_iter_charged`] does. `root` itself is always visited.
///
/// By ids, `filter` is called with `arg`, under RCU, for those that have pages and nothing to
/// shrink: it says whether a visit would look at one of these pages.
///
/// The effective protection of what is above a memcg is brought up to date before that memcg is
/// returned, or the walk has returned those. May sleep.
///
/// # Safety
///
/// As for [`mem_cgroup_iter_charged`], and for `filter` as for [`mem_cgroup_iter_cond`]. `nid` must
/// be a possible node, and the one of `reclaim`.
#[export]
pub(crate) unsafe extern "C" fn mem_cgroup_iter_reclaimable(
    root: *mut mem_cgroup,
    prev: *mut mem_cgroup,
    reclaim: *mut mem_cgroup_reclaim_cookie,
    nid: c_int,
    filter: bindings::mem_cgroup_filter_fn,
    arg: *mut c_void,
) -> *mut mem_cgroup {
    // SAFETY: The node is a possible one.
    let node = unsafe { Node::from_raw(nid) };
    // SAFETY: The caller keeps `root` valid.
    let is_global = unsafe { top(root) }.is_some_and(MemCgroup::is_root);

    // The oracle looks for memcgs that a walk by ids would miss.
    if !is_global || verify::is_on() {
        // SAFETY: As for this function.
        let next = unsafe { mem_cgroup_iter_charged(root, prev, reclaim) };

        // SAFETY: The walk returned null or a valid memcg.
        if let Some(memcg) = unsafe { next.cast::<MemCgroup>().as_ref() } {
            verify::check_lru(memcg, node);
        }
        return next;
    }

    // SAFETY: `prev` is null, or the caller has a reference on it.
    let parent = unsafe { prev.cast::<MemCgroup>().as_ref() }.and_then(|prev| {
        // Reclaim was there, and may have taken its last page.
        unlist_if_empty(prev, node);
        prev.parent()
    });
    // By its number: when `prev` is given back, the parent may go, and its address be another's.
    let parent = parent.map(Group::serial);

    let (order, pause) = (ReclaimableOrder(node), sys::cond_resched);
    let filter = |memcg: &MemCgroup| {
        if filter.is_none() || memcg.is_root() || !has_only_pages(memcg, node) {
            return Verdict::Visit;
        }
        // SAFETY: The caller vouches for `filter` and `arg`.
        unsafe { verdict_of(filter, memcg, arg) }
    };
    // SAFETY: It is null or valid, and what it names comes from where this function says.
    let position = unsafe { position_named_by(reclaim) };
    // SAFETY: As for this function.
    let next = unsafe { iter_next(root, prev, reclaim, position, order, filter, pause) };

    // SAFETY: The walk returned null or a valid memcg.
    let above = unsafe { next.cast::<MemCgroup>().as_ref() }.and_then(MemCgroup::parent);
    // Many siblings follow each other.
    if let Some(above) = above.filter(|above| Some(above.serial()) != parent) {
        above.calculate_protection_path();
    }
    next
}

/// Walks all memcgs that may have something to shrink on a node, and first the root memcg.
///
/// `pos` is where the walk is, 0 at first: a memcg that goes offline meanwhile is not a place to go
/// on from. May sleep.
///
/// # Safety
///
/// - `prev` must be null, or come from the call before. It is given back.
/// - `nid` must be a possible node.
/// - `pos` must be valid and used by this walk only.
#[export]
pub(crate) unsafe extern "C" fn mem_cgroup_iter_shrinkable(
    prev: *mut mem_cgroup,
    nid: c_int,
    pos: *mut c_uint,
) -> *mut mem_cgroup {
    // The oracle looks for memcgs that such a walk would miss.
    if verify::is_on() {
        // SAFETY: As for this function.
        return unsafe { mem_cgroup_iter(ptr::null_mut(), prev, ptr::null_mut()) };
    }
    if prev.is_null() && memcg::is_disabled() {
        return ptr::null_mut();
    }
    let Some(root) = MemCgroup::root() else {
        return ptr::null_mut();
    };

    // SAFETY: The node is a possible one, and `pos` is valid.
    let (node, pos) = unsafe { (Node::from_raw(nid), &mut *pos) };
    let next = into_raw(root, next_shrinkable(root, node, pos));

    // SAFETY: The caller gives `prev` back, and doesn't use it any more.
    unsafe { iter_put(root, prev) };
    next
}

/// Ends a walk before its round is complete. Does not sleep.
///
/// # Safety
///
/// `root` and `prev` must be as in [`mem_cgroup_iter_cond`].
#[export]
pub(crate) unsafe extern "C" fn mem_cgroup_iter_break(
    root: *mut mem_cgroup,
    prev: *mut mem_cgroup,
) {
    // SAFETY: The caller keeps `root` valid.
    if let Some(root) = unsafe { top(root) } {
        // SAFETY: The caller gives `prev` back.
        unsafe { iter_put(root, prev) };
    }
}

mod priority {
    use super::*;
    use crate::priority::{
        self,
        HasPriority,
        Priority,
        Turn,
        Value, //
    };

    /// Gives a memcg a value, or takes it away if `value` is no priority; it counts only while the
    /// memcg is active if `while_active` says so. May sleep.
    ///
    /// # Safety
    ///
    /// `memcg` must be valid, and so must be the memcgs below it while RCU is held. The caller must
    /// hold `memcg_priority_mutex`.
    #[export]
    pub(crate) unsafe extern "C" fn memcg_priority_set(
        memcg: *mut mem_cgroup,
        value: c_int,
        while_active: bool,
    ) {
        let value = Priority::new(value).map(|priority| Value {
            priority,
            while_active,
        });

        // SAFETY: The caller vouches for the memcg.
        priority::set(unsafe { MemCgroup::from_raw(memcg) }, value);
    }

    /// Brings up to date what a memcg gets from the values above it. May sleep.
    ///
    /// # Safety
    ///
    /// As for [`memcg_priority_set`].
    #[export]
    pub(crate) unsafe extern "C" fn memcg_priority_update(memcg: *mut mem_cgroup) {
        // SAFETY: The caller vouches for the memcg.
        priority::update(unsafe { MemCgroup::from_raw(memcg) });
    }

    /// Returns the value of a memcg, or `MEMCG_PRIORITY_UNSET`; and in `while_active` whether it
    /// counts only while the memcg is active. Does not sleep.
    ///
    /// # Safety
    ///
    /// `memcg` must be valid, and `while_active` valid and used by nobody else.
    #[export]
    pub(crate) unsafe extern "C" fn memcg_priority_get(
        memcg: *mut mem_cgroup,
        while_active: *mut bool,
    ) -> c_int {
        // SAFETY: The caller vouches for the memcg.
        let value = unsafe { MemCgroup::from_raw(memcg) }.priority().value();

        // SAFETY: The caller vouches for the pointer.
        unsafe { *while_active = value.is_some_and(|value| value.while_active) };
        value.map_or(bindings::MEMCG_PRIORITY_UNSET, |value| value.priority.get())
    }

    /// Returns the priority that counts for a memcg right now. Does not sleep.
    ///
    /// # Safety
    ///
    /// `memcg` must be valid.
    #[export]
    pub(crate) unsafe extern "C" fn memcg_priority_effective(memcg: *mut mem_cgroup) -> c_int {
        // SAFETY: The caller vouches for the memcg.
        priority::effective(unsafe { MemCgroup::from_raw(memcg) }).get()
    }

    /// Returns the priority with which global reclaim, which has `priority`, scans a memcg with so
    /// many pages, or `MEMCG_PRIORITY_PASS` if it passes over it; and in `owed` what others have
    /// to give for it. Does not sleep.
    ///
    /// # Safety
    ///
    /// `memcg` must be valid, and `owed` valid and used by nobody else.
    #[export]
    pub(crate) unsafe extern "C" fn memcg_priority_turn(
        memcg: *mut mem_cgroup,
        priority: c_int,
        size: usize,
        owed: *mut usize,
    ) -> c_int {
        // SAFETY: The caller vouches for the memcg.
        let group = priority::effective(unsafe { MemCgroup::from_raw(memcg) });
        // SAFETY: The caller vouches for the pointer.
        let owed = unsafe { &mut *owed };
        let turn;

        (turn, *owed) = priority::settle(priority, group, size, *owed);
        match turn {
            Turn::Pass => bindings::MEMCG_PRIORITY_PASS,
            Turn::Scan(priority) => priority,
        }
    }

    /// Notes that a memcg faults. For any context.
    ///
    /// # Safety
    ///
    /// `memcg` must be valid.
    #[export]
    pub(crate) unsafe extern "C" fn memcg_priority_active(memcg: *mut mem_cgroup) {
        // SAFETY: The caller vouches for the memcg.
        priority::note_fault(unsafe { MemCgroup::from_raw(memcg) });
    }
}

#[cfg(CONFIG_MEMCG_V1)]
mod soft_limit {
    use kernel::{
        bindings::mem_cgroup_excess_pass,
        sync::atomic::Atomic, //
    };

    use super::*;
    use crate::soft_limit::{
        self,
        walk::{
            ExcessOrder,
            Tops, //
        },
        HasSoftLimit, //
    };

    /// Brings up to date what is known of a memcg's excess, and of its ancestors', after usage or
    /// limit changed. Does not sleep; interrupts may be off.
    ///
    /// # Safety
    ///
    /// `memcg` must be valid.
    #[export]
    pub(crate) unsafe extern "C" fn mem_cgroup_update_excess(memcg: *mut mem_cgroup) {
        // SAFETY: The memcg is valid.
        soft_limit::update(unsafe { MemCgroup::from_raw(memcg) });
    }

    /// Forgets the excess of a memcg that goes offline. Does not sleep.
    ///
    /// # Safety
    ///
    /// `memcg` must be valid.
    #[export]
    pub(crate) unsafe extern "C" fn mem_cgroup_close_excess(memcg: *mut mem_cgroup) {
        // SAFETY: The memcg is valid.
        soft_limit::close(unsafe { MemCgroup::from_raw(memcg) });
    }

    /// Returns whether there are memcgs below this one that exceed their soft limits, so that
    /// reclaim takes from them first. Not if this one exceeds its own: then all have the same rank.
    /// Does not sleep.
    ///
    /// # Safety
    ///
    /// `root` must be null, for the root of all, or valid.
    #[export]
    pub(crate) unsafe extern "C" fn __mem_cgroup_has_excess(root: *mut mem_cgroup) -> bool {
        // SAFETY: The root is null or valid.
        unsafe { top(root) }.is_some_and(soft_limit::has_first_pass)
    }

    /// Returns whether a pass over those in excess made no progress, so that another one over the
    /// others must follow. Does not sleep.
    ///
    /// # Safety
    ///
    /// `pass` must be valid.
    #[export]
    pub(crate) unsafe extern "C" fn mem_cgroup_excess_in_vain(
        pass: *const mem_cgroup_excess_pass,
    ) -> bool {
        // SAFETY: The pass is valid.
        let pass = unsafe { &*pass };
        let is_in_vain = soft_limit::is_in_vain(pass);

        sys::count(VmEvent::ExcessPass, 1);
        if is_in_vain {
            sys::count(VmEvent::ExcessPassInVain, 1);
        }
        is_in_vain
    }

    /// Returns whether those in excess have more to give after a pass that was in vain, so that
    /// anonymous memory of the others is left alone in the one that follows. Does not sleep.
    ///
    /// # Safety
    ///
    /// `pass` must be valid.
    #[export]
    pub(crate) unsafe extern "C" fn mem_cgroup_excess_has_more(
        pass: *const mem_cgroup_excess_pass,
    ) -> bool {
        // SAFETY: The pass is valid.
        soft_limit::has_more(unsafe { &*pass })
    }

    /// Returns whether a first pass of reclaim of `root` visits a memcg, which is `root` or below
    /// it. Does not sleep.
    ///
    /// # Safety
    ///
    /// `root` must be null, for the root of all, or valid. `memcg` must be valid.
    #[export]
    pub(crate) unsafe extern "C" fn mem_cgroup_below_excess(
        root: *mut mem_cgroup,
        memcg: *mut mem_cgroup,
    ) -> bool {
        // SAFETY: The memcg is valid.
        let memcg = unsafe { MemCgroup::from_raw(memcg) };

        // SAFETY: The root is null or valid.
        unsafe { top(root) }
            .is_some_and(|root| matches!(soft_limit::verdict(memcg, root), Verdict::Visit))
    }

    /// Returns how many memcgs below this one exceed their soft limits, for debugfs and tests.
    ///
    /// # Safety
    ///
    /// `memcg` must be valid.
    #[export]
    pub(crate) unsafe extern "C" fn mem_cgroup_nr_excess(memcg: *mut mem_cgroup) -> c_long {
        // SAFETY: The memcg is valid.
        unsafe { MemCgroup::from_raw(memcg) }.excess().nr_below()
    }

    /// Walks the memcgs of a hierarchy that exceed their soft limits, and all below them:
    /// [`mem_cgroup_iter_charged`] for the first pass of reclaim. May sleep.
    ///
    /// A walk that is not shared remembers in `walked` where it is; that is 0 at first, and the
    /// caller leaves it alone.
    ///
    /// # Safety
    ///
    /// - As for [`mem_cgroup_iter_cond`].
    /// - `walked` must be valid and used by this walk only.
    #[export]
    pub(crate) unsafe extern "C" fn mem_cgroup_iter_excess(
        root: *mut mem_cgroup,
        prev: *mut mem_cgroup,
        reclaim: *mut mem_cgroup_reclaim_cookie,
        walked: *mut c_uint,
    ) -> *mut mem_cgroup {
        let position = MemCgroup::excess_iter;
        let pause = sys::cond_resched;
        // SAFETY: The caller keeps `root` valid.
        let top = unsafe { top(root) };
        let skipped = Skipped::default();
        let filter = |memcg: &MemCgroup| match top {
            Some(root) if !is_uncharged_below(memcg, top) => soft_limit::verdict(memcg, root),
            _ => {
                skipped.add_one();
                Verdict::SkipTree
            }
        };

        let tops = if reclaim.is_null() {
            // SAFETY: It is valid, and only this walk uses it.
            Tops::Alone(unsafe { Atomic::from_ptr(walked) })
        } else {
            // SAFETY: A cookie is valid, and so is the node that it names.
            Tops::Shared(unsafe { Node::from_raw((*(*reclaim).pgdat).node_id) })
        };
        let order = ExcessOrder::new(tops);

        // SAFETY: The caller keeps what this function asks for.
        unsafe { iter_next(root, prev, reclaim, position, order, filter, pause) }
    }
}
