// SPDX-License-Identifier: GPL-2.0

//! What C asks for page cache that outlives the limit of its memcg, but for what is set for one.

use kernel::{
    bindings::{
        self,
        memcg_retain_node,
        memcg_retain_room, //
    },
    prelude::*, //
};

use crate::retain::{
    self,
    Folio,
    NodePages,
    Refusal,
    Room, //
};

fn pages(node: memcg_retain_node) -> NodePages {
    NodePages {
        free: node.free,
        high: node.high,
        managed: node.managed,
    }
}

/// Returns how many pages may be retained until the node has too few free ones. Does not sleep.
#[export]
pub(crate) extern "C" fn memcg_retain_node_spare(node: memcg_retain_node) -> usize {
    pages(node).spare()
}

/// Returns how many pages the pool is to give back to the node. Does not sleep.
#[export]
pub(crate) extern "C" fn memcg_retain_node_lacking(node: memcg_retain_node) -> usize {
    pages(node).lacking()
}

/// Decides whether a folio is retained, of which `facts` is known: returns
/// `MEMCG_RETAIN_KEPT`, or the event to be counted, or `MEMCG_RETAIN_UNFIT`. Does not sleep.
#[export]
pub(crate) extern "C" fn memcg_retain_judge(
    facts: u32,
    nr_pages: usize,
    room: memcg_retain_room,
) -> c_int {
    let room = Room {
        spare: room.spare,
        margin: room.margin,
        is_burdened: room.is_burdened,
        is_unused: room.is_unused,
    };
    let event = match retain::judge(Folio(facts), nr_pages, room) {
        Ok(()) => bindings::memcg_retain_event_MEMCG_RETAIN_KEPT,
        Err(Refusal::Watermark) => bindings::memcg_retain_event_MEMCG_RETAIN_WATERMARK,
        Err(Refusal::Cap) => bindings::memcg_retain_event_MEMCG_RETAIN_CAP,
        Err(Refusal::Busy) => bindings::memcg_retain_event_MEMCG_RETAIN_BUSY,
        Err(Refusal::Slab) => bindings::memcg_retain_event_MEMCG_RETAIN_SLAB,
        Err(Refusal::Unused) => bindings::memcg_retain_event_MEMCG_RETAIN_UNUSED,
        Err(Refusal::Unfit) => return bindings::MEMCG_RETAIN_UNFIT,
    };

    event as c_int
}

/// Returns whether too many of the pages of a memcg at its limit are slab for anything to be
/// retained. Does not sleep.
#[export]
pub(crate) extern "C" fn memcg_retain_is_burden(nr_slab: usize, usage: usize) -> bool {
    retain::is_burden(nr_slab, usage)
}

/// Returns how many pages of the pool, which has `pooled`, are freed for a memcg that can't be kept
/// within its limit. Does not sleep.
#[export]
pub(crate) extern "C" fn memcg_retain_nr_relief(
    nr_slab: usize,
    usage: usize,
    pooled: usize,
) -> usize {
    retain::relief(nr_slab, usage, pooled)
}

/// Returns how many of these are freed before it is seen whether that was of use. Does not sleep.
#[export]
pub(crate) extern "C" fn memcg_retain_relief_step(nr: usize) -> usize {
    retain::relief_step(nr)
}

/// Decides whether who uses a folio, of which `facts` is known, is charged for it. Does not sleep.
#[export]
pub(crate) extern "C" fn memcg_retain_charges_user(facts: u32, user_is_pool: bool) -> bool {
    retain::charges_user(Folio(facts), user_is_pool)
}

/// Returns how many pages leave a pool so that what comes next finds room. Does not sleep.
#[export]
pub(crate) extern "C" fn memcg_retain_makes_room(usage: usize, margin: usize) -> usize {
    retain::makes_room(usage, margin)
}

/// Returns whether the search for pages of the pool that can be freed goes on. Does not sleep.
#[export]
pub(crate) extern "C" fn memcg_retain_goes_on(
    nr_wanted: usize,
    nr_scanned: usize,
    nr_reclaimed: usize,
) -> bool {
    retain::goes_on(nr_wanted, nr_scanned, nr_reclaimed)
}

/// Returns how many pages kswapd takes from the pool at a time. Does not sleep.
#[export]
pub(crate) extern "C" fn memcg_retain_batch(nr_lacking: usize) -> usize {
    retain::batch(nr_lacking)
}

/// Returns in how many milliseconds a node that has pages to spare is looked at again. Does not
/// sleep.
#[export]
pub(crate) extern "C" fn memcg_retain_next_look(nr_spare: usize) -> c_uint {
    retain::next_look(nr_spare)
}
