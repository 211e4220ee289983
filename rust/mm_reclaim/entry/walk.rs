// SPDX-License-Identifier: GPL-2.0

//! The entry points of the iterator.

use core::{
    ffi::c_void,
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
    ffi::{
        c_int,
        c_uint, //
    },
    prelude::*, //
};

use crate::{
    iter::{
        self,
        Cookie,
        Order,
        PreOrder,
        Step,
        Verdict, //
    },
    memcg::{
        self,
        MemCgroup,
        MemCgroupRef,
        ReclaimIter, //
    },
    sys::{
        self,
        Node,
        Stat, //
    },
    verify,
    walk::next_shrinkable, //
};

/// Returns the memcg that a walk begins with: `root`, or the root of all if it is null. Null early
/// at boot, when there is none.
pub(super) fn top(root: *mut mem_cgroup) -> *mut mem_cgroup {
    if root.is_null() {
        MemCgroup::root().map_or(ptr::null_mut(), MemCgroup::as_raw)
    } else {
        root
    }
}

/// Walks a hierarchy of memcgs: `mem_cgroup_iter()` for any order and filter, and any position that
/// is kept for each memcg and node.
///
/// May sleep, as a filter may refuse many: lets others run after some.
///
/// # Safety
///
/// As for [`mem_cgroup_iter_cond`].
pub(super) unsafe fn iter_next(
    root: *mut mem_cgroup,
    prev: *mut mem_cgroup,
    reclaim: *mut mem_cgroup_reclaim_cookie,
    position: impl for<'a> FnOnce(&'a MemCgroup, Node) -> ReclaimIter<'a>,
    order: impl Order<MemCgroup>,
    filter: impl FnMut(&MemCgroup) -> Verdict,
) -> *mut mem_cgroup {
    let pause = sys::cond_resched;

    // SAFETY: As for this function.
    unsafe { iter_next_with(root, prev, reclaim, position, order, filter, pause) }
}

/// Does what [`iter_next`] does, and calls `pause` where that lets others run. Does not sleep
/// unless `pause` does.
///
/// # Safety
///
/// As for [`mem_cgroup_iter_cond`].
unsafe fn iter_next_with(
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
    let root = top(root);
    if root.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: The caller keeps `root` valid; the root of all is never freed.
    let root = unsafe { MemCgroup::from_raw(root) };

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
        iter::next_with(root, prev_ref, cookie, order, filter, pause),
    );

    // SAFETY: The caller gives `prev` back, and doesn't use it any more.
    unsafe { iter_put(root.as_raw(), prev) };
    next
}

/// Returns whether a walk below `root` finds nothing to reclaim in a memcg and below: nothing is
/// charged. The memcg that it begins with is visited all the same.
pub(super) fn is_uncharged_below(memcg: &MemCgroup, root: *mut mem_cgroup) -> bool {
    memcg.as_raw() != top(root) && memcg.is_uncharged()
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
unsafe fn iter_put(root: *mut mem_cgroup, prev: *mut mem_cgroup) {
    if prev == root {
        return;
    }
    if let Some(prev) = NonNull::new(prev) {
        // SAFETY: The walk got a reference for everything that it returned but `root`.
        drop(unsafe { MemCgroupRef::from_raw(prev) });
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
    // SAFETY: As for this function.
    unsafe {
        iter_next_with(
            root,
            prev,
            reclaim,
            MemCgroup::reclaim_iter,
            PreOrder,
            |_| Verdict::Visit,
            || (),
        )
    }
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
    let verdict = |memcg: &MemCgroup| {
        // SAFETY: The caller vouches for `filter` and `arg`.
        let verdict = filter.map_or(0, |filter| unsafe { filter(memcg.as_raw(), arg) });

        match verdict as u32 {
            bindings::mem_cgroup_filter_MEM_CGROUP_SKIP => Verdict::Skip,
            bindings::mem_cgroup_filter_MEM_CGROUP_SKIP_TREE => Verdict::SkipTree,
            _ => Verdict::Visit,
        }
    };

    // SAFETY: As for this function.
    unsafe {
        iter_next_with(
            root,
            prev,
            reclaim,
            MemCgroup::reclaim_iter,
            PreOrder,
            verdict,
            || (),
        )
    }
}

/// Walks the memcgs of a hierarchy to which anything is charged: [`mem_cgroup_iter`] without those
/// subtrees whose `memory` counter reads zero. `root` itself is always visited.
///
/// May sleep.
///
/// # Safety
///
/// As for [`mem_cgroup_iter_cond`].
#[export]
pub(crate) unsafe extern "C" fn mem_cgroup_iter_charged(
    root: *mut mem_cgroup,
    prev: *mut mem_cgroup,
    reclaim: *mut mem_cgroup_reclaim_cookie,
) -> *mut mem_cgroup {
    let mut skipped = 0isize;
    let charged = |memcg: &MemCgroup| {
        if is_uncharged_below(memcg, root) {
            skipped = skipped.wrapping_add(1);
            Verdict::SkipTree
        } else {
            Verdict::Visit
        }
    };

    // SAFETY: As for this function.
    let next = unsafe {
        iter_next(
            root,
            prev,
            reclaim,
            MemCgroup::reclaim_iter,
            PreOrder,
            charged,
        )
    };

    if skipped != 0 {
        sys::count(Stat::SubtreesSkipped, skipped);
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
    unsafe { iter_put(root.as_raw(), prev) };
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
    // SAFETY: The caller gives `prev` back.
    unsafe { iter_put(top(root), prev) };
}
