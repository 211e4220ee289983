// SPDX-License-Identifier: GPL-2.0

//! The counts of groups that have something to shrink.

use kernel::{
    alloc::flags::GFP_KERNEL,
    prelude::*, //
};

use super::{
    group::{
        node,
        Group, //
    },
    random::Random, //
};
use crate::{
    id::Id,
    info::Owner,
    node::Node,
    unit::Unit, //
};

const STEPS: u32 = 50_000;
const IDS: u32 = 3 * Unit::LEN;

/// What one group should count as.
#[derive(Clone, Copy, Default)]
struct Model {
    bits: [u64; 3],
    is_stray: bool,
    is_closed: bool,
}

impl Model {
    fn is_idle(&self) -> bool {
        self.is_closed || (!self.is_stray && self.bits == [0; 3])
    }
}

/// Compares each count with the number of groups below that are not idle.
fn check(random: &Random, step: u32, groups: &[&Group<'_>], models: &[Model], at: Node) -> Result {
    for (i, group) in groups.iter().enumerate() {
        let is_below = |mut below: &Group<'_>| loop {
            if core::ptr::eq(below, *group) {
                return true;
            }
            match below.parent() {
                Some(parent) => below = parent,
                None => return false,
            }
        };
        // The root, which comes first, is not counted.
        let expected = (1..groups.len())
            .filter(|&k| !models[k].is_idle() && is_below(groups[k]))
            .count() as isize;
        let nr = group.node_info(at).subtree.nr();

        random.check(
            nr == expected,
            step,
            fmt!("group {i} counts {nr}, not {expected}"),
        )?;
    }
    Ok(())
}

fn run(random: &mut Random, groups: &[&Group<'_>]) -> Result {
    let at = node()?;
    let mut models = [Model::default(); 7];

    for group in groups {
        for index in 0..3 {
            group.map.install(index, Node::possible, GFP_KERNEL)?;
        }
    }
    for step in 0..STEPS {
        let which = random.below(groups.len() as u32) as usize;
        let (info, model) = (groups[which].info(at), &mut models[which]);
        let id = Id::new(0, random.below(IDS));

        match random.below(16) {
            0..=5 => {
                info.set(id);
                model.bits[id.index() as usize] |= 1 << id.offset();
            }
            6..=12 => {
                // A walk that finds this unit empty.
                for offset in 0..Unit::LEN {
                    info.clear(Id::new(id.index(), offset));
                }
                info.settle(id.index());
                info.uncount_if_idle();
                model.bits[id.index() as usize] = 0;
            }
            13 => {
                info.set_stray();
                model.is_stray = true;
            }
            14 => {
                let was_stray = info.take_stray();
                random.check(
                    was_stray == model.is_stray,
                    step,
                    fmt!("stray is {was_stray}"),
                )?;
                info.uncount_if_idle();
                model.is_stray = false;
            }
            // Leaves go offline now and then, late in the run.
            _ if which > 3 && step > STEPS / 2 && random.below(500) == 0 => {
                groups[which].map.close(|_, _, _| ());
                info.uncount();
                model.is_closed = true;
            }
            _ => (),
        }
        check(random, step, groups, &models, at)?;
    }

    for (group, model) in groups.iter().zip(&mut models) {
        group.map.close(|_, _, _| ());
        group.info(at).uncount();
        model.is_closed = true;
    }
    check(random, STEPS, groups, &models, at)
}

#[kunit_tests(mm_reclaim_subtree)]
mod tests {
    use super::*;

    #[test]
    fn counts_follow_model() -> Result {
        let mut random = Random::new("counts_follow_model");
        let root = Group::new(None);
        let a = Group::new(Some(&root));
        let b = Group::new(Some(&root));
        let aa = Group::new(Some(&a));
        let ab = Group::new(Some(&a));
        let aaa = Group::new(Some(&aa));
        let aab = Group::new(Some(&aa));

        run(&mut random, &[&root, &a, &b, &aa, &ab, &aaa, &aab])
    }
}
