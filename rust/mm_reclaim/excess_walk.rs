// SPDX-License-Identifier: GPL-2.0

//! The order in which groups in excess are visited.
//!
//! A walk of all groups goes from one marked group to the next by their list, and visits each with
//! what is below it: so it costs what there is to visit, however many siblings are not in excess. A
//! walk below another group follows the hierarchy, as most of those listed are elsewhere.
//!
//! Groups are listed when they are marked. Losing the mark does not take a group off the list: the
//! next walk does, that finds it there. So a group that goes into excess and out of it all the time
//! writes to the list only if a walk came between.

use core::ptr;
use kernel::sync::rcu::Guard;

use crate::{
    excess::{
        path,
        Limited, //
    },
    iter::{
        Group,
        Order, //
    },
    memcg_bitmap::MemcgId, //
};

/// The order of a walk that visits groups in excess, and those below them.
///
/// It may have other groups, where marks change meanwhile; then it may also repeat groups, or end
/// early.
#[derive(Clone, Copy)]
pub(crate) struct ExcessOrder;

impl<G: Group + Limited> Order<G> for ExcessOrder {
    fn next<'g>(&self, pos: Option<&'g G>, root: &'g G, guard: &'g Guard) -> Option<&'g G> {
        if is_by_hierarchy(root) {
            return G::next_descendant_pre(pos, root, guard);
        }
        match pos {
            None if root.excess().is_marked() => Some(root),
            None => next_top(0, root, guard),
            Some(pos) => next_below_top(pos, root, guard, |top| {
                G::next_descendant_pre(Some(pos), top, guard)
            }),
        }
    }

    fn next_after_subtree<'g>(&self, group: &'g G, root: &'g G, guard: &'g Guard) -> Option<&'g G> {
        if is_by_hierarchy(root) {
            return group.next_after_subtree(root, guard);
        }
        next_below_top(group, root, guard, |top| {
            group.next_after_subtree(top, guard)
        })
    }
}

/// Only the root of all has everybody below it who is listed.
fn is_by_hierarchy<G: Limited>(root: &G) -> bool {
    root.parent().is_some()
}

/// Returns the highest one that is marked of a group and its ancestors.
fn top<G: Limited>(group: &G) -> Option<&G> {
    path(group)
        .filter(|above| above.excess().is_marked())
        .last()
}

/// Returns what `next` finds below the marked group that `group` is or belongs to, or else the next
/// marked group.
fn next_below_top<'g, G: Limited>(
    group: &'g G,
    root: &'g G,
    guard: &'g Guard,
    next: impl FnOnce(&'g G) -> Option<&'g G>,
) -> Option<&'g G> {
    let top = top(group);

    // A group that has neither a mark above it nor an id any more is no place to go on from.
    top.and_then(next)
        .or_else(|| next_top(top.unwrap_or(group).listed_id()?.after(), root, guard))
}

/// Returns the listed group with the lowest id, from number `start` on, that is marked and not
/// below another one.
fn next_top<'g, G: Limited>(mut start: u32, root: &'g G, guard: &'g Guard) -> Option<&'g G> {
    loop {
        let id = root.excess_bitmap().next(start)?;
        start = id.after();

        match marked(id, root, guard) {
            None => unlist(id, root, guard),
            Some(group) if top(group).is_some_and(|top| ptr::eq(top, group)) => {
                return Some(group);
            }
            Some(_) => (),
        }
    }
}

fn marked<'g, G: Limited>(id: MemcgId, root: &'g G, guard: &'g Guard) -> Option<&'g G> {
    root.with_id(id, guard)
        .filter(|group| group.excess().is_marked())
}

/// Takes an id off the list, unless the group that has it by now is marked.
fn unlist<G: Limited>(id: MemcgId, root: &G, guard: &Guard) {
    // ORDERING: Fully ordered before the mark is read again; pairs with `update_one`.
    root.excess_bitmap().clear(id);
    if marked(id, root, guard).is_some() {
        root.excess_bitmap().set(id);
    }
}
