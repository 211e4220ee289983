// SPDX-License-Identifier: GPL-2.0

//! The list of groups that have something to shrink.

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
    map::on_node::HasMap,
    memcg_bitmap::{
        MemcgBitmap,
        MemcgId, //
    },
    shrinker_id::ShrinkerId,
    sys::Node,
    unit::Unit, //
};

const STEPS: u32 = 50_000;
const IDS: u32 = 3 * Unit::LEN;

/// What one group should be listed as.
#[derive(Clone, Copy, Default)]
struct Model {
    bits: [u64; 3],
    strays: u64,
    is_closed: bool,
}

impl Model {
    fn is_idle(&self) -> bool {
        self.is_closed || (self.strays == 0 && self.bits == [0; 3])
    }
}

/// Compares the list with the groups that are not idle.
fn check(random: &Random, step: u32, groups: &[Group<'_>], models: &[Model], at: Node) -> Result {
    for (i, (group, model)) in groups.iter().zip(models).enumerate() {
        let is_listed = group.map_on(at).is_listed();

        // The first one, like the root, never is.
        random.check(
            is_listed == (i != 0 && !model.is_idle()),
            step,
            fmt!("group {i} is listed: {is_listed}"),
        )?;
    }
    Ok(())
}

fn run(random: &mut Random, groups: &[Group<'_>]) -> Result {
    let at = node()?;
    let mut models = [Model::default(); 7];

    for group in groups {
        for index in 0..3 {
            group
                .map
                .install(index..=index, Node::possible, GFP_KERNEL, |_| ())?;
        }
    }
    for step in 0..STEPS {
        let which = random.below(groups.len() as u32) as usize;
        let (map, model) = (groups[which].map_on(at), &mut models[which]);
        let id = ShrinkerId::new(0, random.below(IDS));

        match random.below(16) {
            0..=5 => {
                map.set(id);
                if !model.is_closed {
                    model.bits[id.index() as usize] |= 1 << id.offset();
                }
            }
            6..=12 => {
                // A walk that finds this unit empty.
                for offset in 0..Unit::LEN {
                    map.clear(ShrinkerId::new(id.index(), offset));
                }
                map.settle(id.index());
                map.unlist_if_idle();
                model.bits[id.index() as usize] = 0;
            }
            13 => {
                map.set_stray(id);
                model.strays |= 1 << id.offset();
            }
            14 => {
                let strays = map.take_strays().fold(0, |strays, at| strays | 1 << at);
                random.check(strays == model.strays, step, fmt!("strays are {strays:#x}"))?;
                map.unlist_if_idle();
                model.strays = 0;
            }
            // Some go offline now and then, late in the run.
            _ if which > 3 && step > STEPS / 2 && random.below(500) == 0 => {
                groups[which].map.close(|_, _, _| ());
                map.unlist();
                model.is_closed = true;
            }
            _ => (),
        }
        check(random, step, groups, &models, at)?;
    }

    for (group, model) in groups.iter().zip(&mut models) {
        group.map.close(|_, _, _| ());
        group.map_on(at).unlist();
        model.is_closed = true;
    }
    check(random, STEPS, groups, &models, at)
}

/// Ids near the ends, near the borders of words and summaries, and anywhere.
fn some_id(random: &mut Random) -> i32 {
    let near = match random.below(4) {
        0 => 1,
        1 => 4096,
        2 => 65_536 - 64,
        _ => random.below(65_536 - 64),
    };

    (near + random.below(64)).max(1) as i32
}

fn run_bitmap(random: &mut Random, bitmap: &MemcgBitmap) -> Result {
    const LEN: usize = 64;
    let mut ids = [0i32; LEN];
    let mut is_set = [false; LEN];

    for id in &mut ids {
        *id = some_id(random);
    }
    for step in 0..STEPS {
        let which = random.below(LEN as u32) as usize;
        let Some(id) = MemcgId::from_raw(ids[which]) else {
            return Err(EINVAL);
        };
        let was_set = bitmap.contains(id);
        let is_clear = random.below(3) != 0;

        if is_clear {
            bitmap.clear(id);
        } else {
            let was_clear = bitmap.set(id);
            random.check(was_clear != was_set, step, fmt!("set says {was_clear}"))?;
        }
        // The same id may have been chosen more than once.
        for (other, is_set) in ids.iter().zip(&mut is_set) {
            if *other == ids[which] {
                *is_set = !is_clear;
            }
        }

        let start = if random.below(2) == 0 {
            0
        } else {
            some_id(random)
        };
        let expected = ids
            .iter()
            .zip(&is_set)
            .filter(|(&id, &is_set)| is_set && id >= start)
            .map(|(&id, _)| id as u16)
            .min();
        let found = bitmap.next(start as u32).map(MemcgId::as_raw);
        random.check(
            found == expected,
            step,
            fmt!("from {start} on: {found:?}, not {expected:?}"),
        )?;
    }
    for id in ids.into_iter().filter_map(MemcgId::from_raw) {
        bitmap.clear(id);
    }
    random.check(bitmap.next(0).is_none(), STEPS, fmt!("a bit is left"))
}

#[kunit_tests(mm_reclaim_memcg_bitmap)]
mod tests {
    use super::*;

    #[test]
    fn list_follows_model() -> Result {
        static BITMAP: MemcgBitmap = MemcgBitmap::new();
        let mut random = Random::new("list_follows_model");

        // Some of them share words.
        run(
            &mut random,
            &[0, 1, 2, 64, 4095, 4096, 65_535].map(|id| Group::new(id, &BITMAP)),
        )
    }

    /// An object that comes after a group was found idle, and before it is taken off the list.
    #[test]
    fn late_object_is_listed() -> Result {
        static BITMAP: MemcgBitmap = MemcgBitmap::new();
        let random = Random::new("late_object_is_listed");
        let group = Group::new(1, &BITMAP);
        let map = group.map_on(node()?);
        let id = ShrinkerId::new(0, 0);
        group
            .map
            .install(id.index()..=id.index(), Node::possible, GFP_KERNEL, |_| ())?;
        map.set(id);
        random.check(map.is_listed(), 0, fmt!("not listed"))?;
        map.clear(id);
        map.settle(id.index());
        group.late.set(Some(id));
        map.unlist_if_idle();
        random.check(map.is_set(id), 1, fmt!("not set"))?;
        random.check(map.is_listed(), 1, fmt!("not listed"))?;
        map.clear(id);
        map.settle(id.index());
        map.unlist_if_idle();
        random.check(!map.is_listed(), 2, fmt!("still listed"))
    }

    /// What has more than 16 bits is no id, and not the one that its lower bits make.
    #[test]
    fn other_numbers_are_no_ids() {
        for number in [0, 0x1_0000, 0x1_0001, 0x7fff_ffff, u32::MAX] {
            assert!(MemcgId::new(number).is_none());
        }
        for number in [1, 0xffff] {
            let id = MemcgId::new(number).map(|id| u32::from(id.as_raw()));
            assert_eq!(id, Some(number));
        }
    }

    #[test]
    fn bitmap_follows_model() -> Result {
        static BITMAP: MemcgBitmap = MemcgBitmap::new();
        let mut random = Random::new("bitmap_follows_model");

        run_bitmap(&mut random, &BITMAP)
    }
}
