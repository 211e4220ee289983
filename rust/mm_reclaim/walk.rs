// SPDX-License-Identifier: GPL-2.0

//! The walk of one memcg's shrinkers.

use kernel::sync::rcu;

use crate::{
    id::Id,
    info::Info,
    memcg,
    shrinker::{
        ShrinkerRef,
        Shrunk,
        Target,
        SHRINKERS, //
    },
    verify, //
};

/// Calls the shrinkers that may have objects of a memcg on a node, by ascending id, and returns
/// the number of objects freed.
///
/// May sleep; the caller has a reference on the memcg. Nothing is called for a memcg that is not
/// online: its objects belong to its parent, or soon will.
pub(crate) fn shrink_memcg(target: &Target<'_>) -> usize {
    let info = target.memcg.info(target.node);

    if !target.memcg.is_online() {
        return 0;
    }
    if verify::is_exhaustive() || info.take_stray() {
        return shrink_all(target, &info);
    }

    let mut freed = 0usize;
    let mut start = 0u32;

    while let Some((index, bits)) = info.next_pending(start) {
        for offset in bits {
            freed = freed.wrapping_add(shrink_one(target, &info, Id::new(index, offset)));
        }
        info.settle(index);
        start = index.saturating_add(1);
    }
    verify::check(target, &info);
    freed
}

/// Calls every shrinker, whatever the map says.
fn shrink_all(target: &Target<'_>, info: &Info<'_>) -> usize {
    SHRINKERS.iter().fold(0, |freed, id| {
        freed.wrapping_add(shrink_one(target, info, id))
    })
}

/// Calls one shrinker, and clears its bit if it is empty.
fn shrink_one(target: &Target<'_>, info: &Info<'_>, id: Id) -> usize {
    let Some(shrinker) = find(info, id) else {
        return 0;
    };

    // Without kernel memory accounting, only shrinkers that don't depend on it have objects.
    if !memcg::is_kmem_online() && !shrinker.is_nonslab() {
        info.clear(id);
        return 0;
    }

    if let Shrunk::Freed(freed) = shrinker.shrink(target) {
        // Only a walk that looks everywhere gets here without a unit; so must the next one then.
        if !info.is_installed(id) {
            info.set_stray();
        }
        return freed;
    }

    // An object that was added after the count and before the bit was cleared has its bit cleared
    // too: so look again.
    info.clear(id);
    match shrinker.shrink(target) {
        Shrunk::Freed(freed) => {
            info.set(id);
            freed
        }
        Shrunk::Empty => 0,
    }
}

/// Gets the shrinker whose bit is set.
fn find(info: &Info<'_>, id: Id) -> Option<ShrinkerRef> {
    let guard = rcu::read_lock();

    if let Some(shrinker) = SHRINKERS.get(id, &guard) {
        // While it can't be referenced it is not registered yet, or not any more. Its bit stays: in
        // the one case its objects need it, in the other the next walk finds the id free.
        return shrinker.try_get();
    }

    // The id was free, but another shrinker may have taken it and set the bit before it was cleared
    // here. Then its objects need the bit.
    info.clear(id);
    if SHRINKERS.get(id, &guard).is_some() {
        info.set(id);
    }
    None
}
