// SPDX-License-Identifier: GPL-2.0

//! What happens to the maps when shrinkers, memcgs and nodes come and go.
//!
//! Owns in which order that is done, which the protocols of [`map`](crate::map) need.

use core::{
    ops::RangeInclusive,
    ptr, //
};
use kernel::{
    alloc::Flags,
    prelude::*,
    sync::rcu::RcuFreed, //
};

use crate::{
    deferred,
    iter::{
        self,
        Cookie,
        HasParent,
        PreOrder,
        Step,
        Verdict, //
    },
    map::on_node::{
        HasMap,
        MapOnNode, //
    },
    memcg::{
        MemCgroup,
        ReclaimIter, //
    },
    reclaimable,
    shrinker::{
        Shrinker,
        ShrinkerIds,
        SHRINKERS, //
    },
    shrinker_id::ShrinkerId,
    sys::{
        self,
        Node,
        VmEvent, //
    }, //
};

/// Gives a shrinker an id, and the root memcg room for its deferred work.
///
/// May sleep. Returns `ENOSPC` if all ids are taken, and `ENOMEM` if memory is short.
pub(crate) fn register(
    ids: &mut ShrinkerIds<'_>,
    shrinker: RcuFreed<Shrinker>,
) -> Result<ShrinkerId> {
    let id = ids.find_free(GFP_KERNEL)?;

    // Early at boot there is no root yet: `online` does this later.
    if let Some(root) = MemCgroup::root() {
        install_in_root(root, id)?;
    }
    // Last, because a shrinker that could be found must not be freed without a grace period, and
    // on failure the caller does.
    ids.insert(id, shrinker);
    sys::count(VmEvent::IdAlloc, 1);
    if let Some(root) = MemCgroup::root() {
        mark(root, id);
    }
    Ok(id)
}

/// Notes that the shrinker with `id` may have objects of a memcg on any node.
///
/// So does the root for each new shrinker: a shrinker whose objects don't set bits is called for
/// the root as long as it doesn't say that it is empty. Does not sleep.
pub(crate) fn mark(memcg: &MemCgroup, id: ShrinkerId) {
    MapOnNode::set_on(memcg, Node::with_memory(), id);
}

/// Takes the id of a shrinker back. Does not sleep.
///
/// Its bits may stay behind in the maps; the walks that meet them clear them.
pub(crate) fn unregister(ids: &mut ShrinkerIds<'_>, id: ShrinkerId) {
    ids.remove(id);
    sys::count(VmEvent::IdFree, 1);
}

/// Gives a memcg the unit for `id` on each of `nodes`, which are in ascending order, and so all
/// above it, to which its objects may be reparented. Each pays for its own.
///
/// From the top down: whoever has the unit on a node can be sure that those above have it there,
/// too. May sleep if `flags` allow it. Returns `ENOMEM` if memory is short, or one of them is at a
/// limit; those above that one may have got the unit.
pub(crate) fn install<N: Iterator<Item = Node>>(
    memcg: &MemCgroup,
    nodes: impl Fn() -> N,
    id: ShrinkerId,
    flags: Flags,
) -> Result {
    let mut last: Option<&MemCgroup> = None;

    loop {
        // One that went offline gets no unit: it must not be the next one for ever.
        let is_done = |memcg: &MemCgroup| {
            last.is_some_and(|last| ptr::eq(last, memcg)) || memcg.map().has(id.index(), &nodes)
        };
        let mut next = memcg;

        while let Some(parent) = next.parent().filter(|&parent| !is_done(parent)) {
            next = parent;
        }
        // ORDERING: Fully ordered after those above. Pairs with the barrier in `set`, or in
        // set_shrinker_bit(), before who inherits an object looks for its own unit.
        install_one(next, &nodes, id, flags)?;
        if ptr::eq(next, memcg) {
            return Ok(());
        }
        last = Some(next);
    }
}

/// Does what [`install`] does for one memcg, all above which have the unit. On failure nothing has
/// changed.
pub(crate) fn install_one<N: Iterator<Item = Node>>(
    memcg: &MemCgroup,
    nodes: impl Fn() -> N,
    id: ShrinkerId,
    flags: Flags,
) -> Result {
    install_units(memcg, nodes, id, id.index()..=id.index(), flags)
}

/// Prepares the root for the shrinker with `id`, on all nodes with memory.
///
/// An eighth more units come with it than are needed, as their table is copied whenever it grows:
/// one that grew by a unit for each 64 shrinkers would be copied for a time that is quadratic in
/// their number.
fn install_in_root(root: &MemCgroup, id: ShrinkerId) -> Result {
    let first = id.index();
    let indices = first..=first.saturating_add(first / 8);

    if root.map().has(first, Node::with_memory) {
        return Ok(());
    }
    install_units(root, Node::with_memory, id, indices, GFP_KERNEL)
}

/// Installs the units with `indices`, for the shrinker with `id`.
fn install_units<N: Iterator<Item = Node>>(
    memcg: &MemCgroup,
    nodes: impl Fn() -> N,
    id: ShrinkerId,
    indices: RangeInclusive<u32>,
    flags: Flags,
) -> Result {
    memcg.charged(flags, |flags| {
        memcg.map().install(indices, nodes, flags, |growth| {
            memcg.note_growth(Some(id), growth);
        })
    })
}

/// Gives all memcgs units on a node that was just added to those with memory: the same ones as they
/// have on [`Node::home`], among which are all that are wanted on every node.
///
/// May sleep. Returns `ENOMEM` if memory is short; trying again is all that needs to be done then.
pub(crate) fn add_node(node: Node) -> Result {
    let Some(root) = MemCgroup::root() else {
        return Ok(());
    };
    let mut prev = None;

    loop {
        let last = prev.as_ref().map(|step: &Step<_>| step.get(root));
        let alone = None::<Cookie<'_, ReclaimIter<'_>>>;
        let Some(step) = iter::next(root, last, alone, PreOrder, |_| Verdict::Visit, || ()) else {
            break;
        };
        let memcg = step.get(root);
        let parent = memcg.parent();
        // One that the parent lacks came to both after the parent was visited. If it is wanted on
        // every node, who installs it sees the new one, and comes to the parent first.
        let wanted = |index| {
            parent.is_none_or(|parent| {
                let id = ShrinkerId::new(index, 0);

                parent.map_on(node).is_installed(id)
            })
        };
        // Nobody is charged: a memcg at its limit must not keep memory from being added.
        memcg.map().extend(node, wanted, GFP_KERNEL, |growth| {
            memcg.note_growth(None, growth);
        })?;
        prev = Some(step);
        // There may be tens of thousands, most of them without units.
        sys::cond_resched();
    }
    for id in SHRINKERS.iter() {
        root.map_on(node).set(id);
        sys::cond_resched();
    }
    Ok(())
}

/// Brings a memcg online. May sleep. Returns `ENOMEM` if memory is short.
///
/// Only the root, which can have deferred work of every shrinker, needs units: those for the
/// shrinkers that were registered before it existed. Others will be found by their ids.
pub(crate) fn online(memcg: &MemCgroup) -> Result {
    if memcg.is_root() {
        SHRINKERS
            .iter()
            .try_for_each(|id| install_in_root(memcg, id))?;
        SHRINKERS.iter().for_each(|id| mark(memcg, id));
    }
    memcg.reserve_id(GFP_KERNEL)
}

/// Takes a memcg offline, after its objects and pages were reparented: frees its units after a
/// grace period, and hands its deferred work to an ancestor. Does not sleep. Has no effect a second
/// time.
///
/// A memcg that failed to come online goes the same way when it is freed.
pub(crate) fn offline(memcg: &MemCgroup) {
    let bytes = memcg.map().close(|node, id, nr| {
        if let Some(parent) = memcg.parent() {
            deferred::add(parent, node, id, nr);
        }
    });
    memcg.note_close(bytes);
    // ORDERING: Closing was fully ordered before the bits are read; pairs with `MapOnNode::list`.
    for node in Node::possible() {
        memcg.map_on(node).unlist();
        reclaimable::close(memcg, node);
    }
    memcg.forget_id();
}
