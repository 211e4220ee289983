// SPDX-License-Identifier: GPL-2.0

//! The walk of one memcg's shrinkers, and the one of all memcgs that have something to shrink.
//!
//! Owns what becomes of a bit when its shrinker was called.

use kernel::sync::rcu;

use crate::{
    deferred,
    iter::{
        Group,
        Step, //
    },
    map::on_node::{
        HasMap,
        Pending, //
    },
    memcg::{
        self,
        MemCgroup,
        MemCgroupMap, //
    },
    memcg_bitmap::{
        HasMemcgId,
        MemcgId, //
    },
    shrinker::{
        ShrinkerRef,
        Target,
        SHRINKERS, //
    },
    shrinker_id::ShrinkerId,
    sys::{
        self,
        Node, //
    },
    verify, //
};

/// Calls the shrinkers that may have objects of a memcg on a node, those without a unit first, by
/// ascending id, and returns the number of objects freed.
///
/// May sleep; the caller has a reference on the memcg. Nothing is called for a memcg that is not
/// online: its objects belong to its parent, or soon will.
pub(crate) fn shrink_memcg(target: &Target<'_>) -> usize {
    let map = target.memcg.map_on(target.node);

    if !target.memcg.is_online() {
        return 0;
    }

    // Without kernel memory accounting, the objects of all memcgs are where the root's are, and set
    // bits elsewhere.
    let freed = if verify::is_exhaustive() || (target.memcg.is_root() && memcg::is_kmem_disabled())
    {
        shrink_all(target, &map)
    } else {
        shrink_strays(target, &map).wrapping_add(shrink_mapped(target, &map))
    };

    map.unlist_if_idle();
    freed
}

/// Finds the next memcg that may have something to shrink on `node`, by ascending id, in a walk
/// that begins with the root (`pos` is 0), and moves `pos` on.
///
/// The root's objects may set no bits, and not all shrinkers have one: so it is always visited.
/// May sleep. Each memcg is looked at in an RCU read-side critical section of its own.
pub(crate) fn next_shrinkable(
    root: &MemCgroup,
    node: Node,
    pos: &mut u32,
) -> Option<Step<MemCgroup>> {
    if *pos == 0 {
        *pos = 1;
        return Some(Step::Root);
    }

    loop {
        let id = root.bitmap(node).next(*pos)?;
        *pos = id.after();

        if let Some(memcg) = get_online(root, id) {
            return Some(Step::Descendant(memcg));
        }
        // It is gone, or as good as gone. So may be any number of others.
        root.map_on(node).unlist_id(id);
        sys::cond_resched();
    }
}

/// Gets the memcg that has an id, if it is online.
fn get_online(root: &MemCgroup, id: MemcgId) -> Option<<MemCgroup as Group>::Ref> {
    let guard = rcu::read_lock();

    root.with_id(id, &guard)
        .filter(|memcg| memcg.is_online())
        .and_then(Group::try_get)
}

/// Calls the shrinkers that may have objects though they have no unit.
fn shrink_strays(target: &Target<'_>, map: &MemCgroupMap<'_>) -> usize {
    let strays = map.take_strays();
    let mut freed = 0usize;

    if strays.is_empty() {
        return 0;
    }
    for id in SHRINKERS.iter().filter(|id| strays.contains(id.offset())) {
        if !map.is_installed(id) {
            let Some(nr) = shrink_one(target, map, id) else {
                continue;
            };
            freed = freed.wrapping_add(nr);
        }
        // Its unit may have been installed since, even by now, with a bit for somebody else only:
        // then this sets its own, by which it is called below. If not, it is a stray again.
        map.set(id);
    }
    freed
}

/// Calls the shrinkers whose bits are set.
fn shrink_mapped(target: &Target<'_>, map: &MemCgroupMap<'_>) -> usize {
    let (mut freed, mut visited, mut spurious) = (0usize, 0usize, 0usize);
    let mut start = Some(0);

    while let Some(Pending { index, bits, next }) = start.and_then(|at| map.next_pending(at)) {
        // Not after a bit was cleared: an object often comes back, and then there is less to do.
        // If not, the next walk of this memcg is the last.
        if bits.is_empty() {
            map.settle(index);
        }
        for offset in bits {
            visited = visited.wrapping_add(1);
            match shrink_one(target, map, ShrinkerId::new(index, offset)) {
                Some(nr) => freed = freed.wrapping_add(nr),
                None => spurious = spurious.wrapping_add(1),
            }
        }
        start = next;
    }
    if visited != 0 {
        target
            .memcg
            .note_walk(target.node, visited, spurious, freed);
    }
    verify::check(target, map);
    freed
}

/// Calls every shrinker, whatever the map says.
fn shrink_all(target: &Target<'_>, map: &MemCgroupMap<'_>) -> usize {
    SHRINKERS
        .iter()
        .filter_map(|id| shrink_one(target, map, id))
        .fold(0, usize::wrapping_add)
}

/// Calls one shrinker, and returns the number of objects freed: it may have more. None if there is
/// nothing to shrink, and its bit was cleared.
fn shrink_one(target: &Target<'_>, map: &MemCgroupMap<'_>, id: ShrinkerId) -> Option<usize> {
    let shrinker = match find(map, id) {
        Ok(shrinker) => shrinker,
        Err(freed) => return freed,
    };

    with_deferred(&shrinker, target, id, |deferred| {
        if let Some(freed) = shrinker.shrink(target, deferred) {
            return Some(freed);
        }
        // An object that was added after the count and before the bit was cleared has its bit
        // cleared too: so look again.
        map.clear(id);
        let freed = shrinker.shrink(target, deferred)?;
        map.set(id);
        Some(freed)
    })
}

/// Calls `f` with the work that a shrinker, which has `id`, left over, so that no other walk does
/// that too, and puts back what `f` leaves over.
fn with_deferred<R>(
    shrinker: &ShrinkerRef,
    target: &Target<'_>,
    id: ShrinkerId,
    f: impl FnOnce(&mut isize) -> R,
) -> R {
    let node = shrinker.deferred_node(target.node);
    let mut nr = target.memcg.map_on(node).take_deferred(id);
    let result = f(&mut nr);

    if nr != 0 {
        deferred::add(target.memcg, node, id, nr);
    }
    result
}

/// Gets the shrinker whose bit is set, or returns what [`shrink_one`] does without one.
fn find(map: &MemCgroupMap<'_>, id: ShrinkerId) -> Result<ShrinkerRef, Option<usize>> {
    let guard = rcu::read_lock();

    if let Some(shrinker) = SHRINKERS.get(id, &guard) {
        // While it can't be referenced it is not registered yet, or not any more. Its bit stays: in
        // the one case its objects need it, in the other the next walk finds the id free.
        return shrinker.try_get().ok_or(Some(0));
    }

    // The id was free, but another shrinker may have taken it and set the bit before it was cleared
    // here. Then its objects need the bit.
    map.clear(id);
    if SHRINKERS.get(id, &guard).is_some() {
        map.set(id);
    }
    Err(None)
}
