// SPDX-License-Identifier: GPL-2.0

//! What happens to the maps when shrinkers and memcgs come and go.

use kernel::{
    alloc::{
        flags::GFP_KERNEL,
        Flags, //
    },
    prelude::*, //
};

use crate::{
    id::Id,
    memcg::MemCgroup,
    node::Node,
    rcu::Lent,
    shrinker::{
        Shrinker,
        SHRINKERS, //
    }, //
};

/// Gives a shrinker an id, and the root memcg room for its deferred work.
///
/// The caller holds `shrinker_mutex`. May sleep. Returns `ENOSPC` if all ids are taken, and
/// `ENOMEM` if memory is short.
pub(crate) fn register(shrinker: Lent<Shrinker>) -> Result<Id> {
    let id = SHRINKERS.find_free(GFP_KERNEL)?;

    // Early at boot there is no root yet: `online` does this later.
    if let Some(root) = MemCgroup::root() {
        install(root, id, GFP_KERNEL)?;
    }
    // Last, because a shrinker that could be found must not be freed without a grace period, and
    // on failure the caller does.
    SHRINKERS.insert(id, shrinker);
    Ok(id)
}

/// Takes the id of a shrinker back. The caller holds `shrinker_mutex`.
///
/// Its bits may stay behind in the maps; the walks that meet them clear them.
pub(crate) fn unregister(id: Id) {
    SHRINKERS.remove(id);
}

/// Prepares a memcg to have objects of the shrinker with `id`, on all nodes.
///
/// May sleep if `flags` allow it. Returns `ENOMEM` if memory is short; then nothing has changed.
pub(crate) fn install(memcg: &MemCgroup, id: Id, flags: Flags) -> Result {
    memcg.map().install(id.index(), Node::possible(), flags)
}

/// Brings a memcg online. May sleep. Returns `ENOMEM` if memory is short.
///
/// Only the root, which can have deferred work of every shrinker, needs anything: the units for
/// the shrinkers that were registered before it existed.
pub(crate) fn online(memcg: &MemCgroup) -> Result {
    if memcg.is_root() {
        SHRINKERS
            .iter()
            .try_for_each(|id| install(memcg, id, GFP_KERNEL))?;
    }
    Ok(())
}

/// Takes a memcg offline, after its objects were reparented: frees its units after a grace period,
/// and hands its deferred work to an ancestor. Does not sleep. Has no effect a second time.
pub(crate) fn offline(memcg: &MemCgroup) {
    memcg.map().close(|node, id, nr| {
        if let Some(parent) = memcg.parent() {
            add_deferred(parent, node, id, nr);
        }
    });
}

/// Adds to the work that the shrinker with `id` left over, and returns the sum.
///
/// Where the memcg has no unit for it any more, the nearest ancestor takes the work over. The root
/// has units for all shrinkers. Does not sleep.
pub(crate) fn add_deferred(memcg: &MemCgroup, node: Node, id: Id, mut nr: isize) -> isize {
    let mut heir = Some(memcg);

    if nr == 0 {
        return memcg.info(node).nr_deferred(id);
    }
    while let Some(memcg) = heir {
        match memcg.info(node).add_deferred(id, nr) {
            Ok(sum) => return sum,
            Err(rest) => nr = rest,
        }
        heir = memcg.parent();
    }
    nr
}
