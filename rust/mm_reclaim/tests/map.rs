// SPDX-License-Identifier: GPL-2.0

//! The map of one memcg.

use core::{
    cell::Cell,
    mem::size_of, //
};
use kernel::{
    alloc::flags::{
        GFP_KERNEL,
        GFP_NOWAIT, //
    },
    page::PAGE_SIZE,
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
    bits::Bits,
    map::{
        on_node::{
            HasMap,
            MapOnNode, //
        },
        Map, //
    },
    shrinker_id::ShrinkerId,
    sys::Node,
    table::Entry,
    unit::Unit, //
};

type GroupMap<'a> = MapOnNode<'a, Group<'a>>;

const STEPS: u32 = 20_000;
/// Enough units for some to share a bit of the summary.
const UNITS: u32 = 70;
const IDS: usize = (UNITS * Unit::LEN) as usize;

/// What an [`MapOnNode`] should know, by id.
struct Model {
    installed: KVVec<bool>,
    set: KVVec<bool>,
    deferred: KVVec<isize>,
}

impl Model {
    fn new() -> Result<Self> {
        Ok(Self {
            installed: KVVec::from_elem(false, IDS, GFP_KERNEL)?,
            set: KVVec::from_elem(false, IDS, GFP_KERNEL)?,
            deferred: KVVec::from_elem(0, IDS, GFP_KERNEL)?,
        })
    }

    fn install(&mut self, index: u32) {
        let start = (index * Unit::LEN) as usize;

        for installed in self
            .installed
            .iter_mut()
            .skip(start)
            .take(Unit::LEN as usize)
        {
            *installed = true;
        }
    }

    fn bits(&self, index: u32) -> impl Iterator<Item = u32> + '_ {
        let start = index * Unit::LEN;

        (0..Unit::LEN).filter(move |offset| self.set[(start + offset) as usize])
    }
}

fn choose(random: &mut Random) -> ShrinkerId {
    // A few units get most of the work, so that their bits get clear again too.
    let index = match random.below(3) {
        0 => random.below(UNITS),
        _ => random.below(3) * 64 % UNITS,
    };

    ShrinkerId::new(index, random.below(Unit::LEN))
}

/// The units that a walk would look at, with those that have no bits left out.
fn pending<'a>(map: &'a GroupMap<'_>) -> impl Iterator<Item = (u32, Bits)> + 'a {
    let mut start = Some(0);

    core::iter::from_fn(move || {
        let pending = map.next_pending(start?)?;
        start = pending.next;
        Some((pending.index, pending.bits))
    })
    .filter(|(_, bits)| !bits.is_empty())
}

fn check_model(random: &Random, step: u32, map: &GroupMap<'_>, model: &Model) -> Result {
    for raw in 0..IDS {
        let id = ShrinkerId::new(0, raw as u32);

        random.check(
            map.is_installed(id) == model.installed[raw],
            step,
            fmt!("installed({raw}) is not {}", model.installed[raw]),
        )?;
        random.check(
            map.is_set(id) == model.set[raw],
            step,
            fmt!("set({raw}) is not {}", model.set[raw]),
        )?;
        let nr = map.nr_deferred(id);
        random.check(
            nr == model.deferred[raw],
            step,
            fmt!("deferred({raw}) is {nr}, not {}", model.deferred[raw]),
        )?;
    }

    let mut walk = pending(map);
    for index in (0..UNITS).filter(|&index| model.bits(index).next().is_some()) {
        let found = walk.next();
        random.check(
            found.is_some_and(|(at, bits)| at == index && bits.eq(model.bits(index))),
            step,
            fmt!("a walk doesn't find unit {index}"),
        )?;
    }
    random.check(
        walk.next().is_none(),
        step,
        fmt!("a walk finds a unit too many"),
    )
}

fn run_model(random: &mut Random, map: &GroupMap<'_>, whole: &Map) -> Result {
    let mut model = Model::new()?;
    let mut bytes = 0isize;

    for step in 0..STEPS {
        let id = choose(random);
        let raw = id.as_raw() as usize;

        match random.below(8) {
            0 => {
                whole.install(
                    id.index()..=id.index(),
                    Node::possible,
                    GFP_KERNEL,
                    |growth| {
                        bytes = bytes.wrapping_add(growth.bytes);
                    },
                )?;
                model.install(id.index());
                random.check(
                    whole.bytes() as isize == bytes,
                    step,
                    fmt!("it takes {}, and grew by {bytes}", whole.bytes()),
                )?;
            }
            1 | 2 => {
                let done = map.set(id);
                random.check(
                    done == model.installed[raw],
                    step,
                    fmt!("set({raw}) says {done}"),
                )?;
                // A walk is to ask those of this offset exactly after a bit found no place.
                let strays = (!done).then_some(id.offset());
                random.check(
                    map.is_stray(id) != done && map.take_strays().eq(strays),
                    step,
                    fmt!("stray after set({raw})"),
                )?;
                model.set[raw] = done;
            }
            3 => {
                map.clear(id);
                map.settle(id.index());
                model.set[raw] = false;
            }
            4 => {
                // What a walk does that finds all shrinkers of a unit empty.
                for offset in model.bits(id.index()) {
                    map.clear(ShrinkerId::new(id.index(), offset));
                }
                map.settle(id.index());
                let start = (id.index() * Unit::LEN) as usize;
                for set in model.set.iter_mut().skip(start).take(Unit::LEN as usize) {
                    *set = false;
                }
            }
            5 | 6 => {
                let nr = random.below(100) as isize;
                let expected = if model.installed[raw] {
                    model.deferred[raw] += nr;
                    Ok(model.deferred[raw])
                } else {
                    Err(nr)
                };
                let sum = map.add_deferred(id, nr);
                random.check(sum == expected, step, fmt!("add({raw}, {nr}) is {sum:?}"))?;
            }
            _ => {
                let nr = map.take_deferred(id);
                random.check(
                    nr == model.deferred[raw],
                    step,
                    fmt!("take({raw}) is {nr}, not {}", model.deferred[raw]),
                )?;
                model.deferred[raw] = 0;
            }
        }
        if step % 512 == 0 {
            check_model(random, step, map, &model)?;
        }
    }
    check_model(random, STEPS, map, &model)
}

/// Gives `f` a map, and how it is seen from a node.
fn with_map(f: impl FnOnce(&Map, GroupMap<'_>) -> Result) -> Result {
    let group = Group::unlisted();

    f(&group.map, group.map_on(node()?))
}

#[kunit_tests(mm_reclaim_map)]
mod tests {
    use super::*;

    #[test]
    fn follows_model() -> Result {
        let mut random = Random::new("follows_model");

        with_map(|whole, map| run_model(&mut random, &map, whole))
    }

    #[test]
    fn install_covers_every_node() -> Result {
        let random = Random::new("install_covers_every_node");
        let group = Group::unlisted();
        let id = ShrinkerId::new(7, 3);
        let result = group
            .map
            .install(id.index()..=id.index(), Node::possible, GFP_KERNEL, |_| ());
        let missing = Node::possible()
            .find(|&node| !group.map_on(node).is_installed(id))
            .map(Node::as_raw);

        random.check(result.is_ok(), 0, fmt!("install fails: {result:?}"))?;
        random.check(missing.is_none(), 0, fmt!("not on node {missing:?}"))
    }

    #[test]
    fn install_follows_new_nodes() -> Result {
        let random = Random::new("install_follows_new_nodes");
        let group = Group::unlisted();
        let id = ShrinkerId::new(3, 1);
        let calls = Cell::new(0u32);
        // All but the first node are added while the unit of the first one is made: each attempt
        // looks at the nodes once.
        let nodes = || {
            calls.set(calls.get() + 1);
            Node::possible().take(if calls.get() > 1 { usize::MAX } else { 1 })
        };

        group
            .map
            .install(id.index()..=id.index(), nodes, GFP_KERNEL, |_| ())?;
        let missing = Node::possible()
            .find(|&node| !group.map_on(node).is_installed(id))
            .map(Node::as_raw);
        random.check(missing.is_none(), 0, fmt!("not on node {missing:?}"))?;
        let nr = Node::possible().count();
        random.check(
            group.map.nr_units() == nr,
            1,
            fmt!("{} units on {nr} nodes", group.map.nr_units()),
        )
    }

    #[test]
    fn extend_covers_a_node() -> Result {
        const INDICES: [u32; 4] = [2, 3, 64, 130];
        let random = Random::new("extend_covers_a_node");
        let group = Group::unlisted();

        for index in INDICES {
            group.map.install(
                index..=index,
                || core::iter::once(Node::home()),
                GFP_KERNEL,
                |_| (),
            )?;
        }
        for node in Node::possible() {
            group.map.extend(node, |_| true, GFP_KERNEL, |_| ())?;
        }
        for index in INDICES {
            let missing = Node::possible()
                .find(|&node| !group.map_on(node).is_installed(ShrinkerId::new(index, 0)))
                .map(Node::as_raw);
            random.check(
                missing.is_none(),
                index,
                fmt!("unit {index} is not on node {missing:?}"),
            )?;
        }
        let nr = INDICES.len() * Node::possible().count();
        random.check(
            group.map.nr_units() == nr,
            0,
            fmt!("{} units instead of {nr}", group.map.nr_units()),
        )
    }

    #[test]
    fn install_without_sleeping() -> Result {
        let random = Random::new("install_without_sleeping");
        let group = Group::unlisted();
        let nr_nodes = Node::possible().count();
        let per_page = PAGE_SIZE / size_of::<Entry>();
        let mut index = 0;

        // Whether there is memory is another matter.
        while group.map.nr_units() + nr_nodes <= per_page {
            group
                .map
                .install(index..=index, Node::possible, GFP_KERNEL, |_| ())?;
            index += 1;
        }
        let nr = group.map.nr_units();
        let result = group
            .map
            .install(index..=index, Node::possible, GFP_NOWAIT, |_| ());
        random.check(
            result == Err(ENOMEM) && group.map.nr_units() == nr,
            0,
            fmt!("a table of more than a page: {result:?}"),
        )?;
        group
            .map
            .install(index..=index, Node::possible, GFP_KERNEL, |_| ())?;
        random.check(
            group.map.nr_units() == nr + nr_nodes,
            1,
            fmt!("{} units", group.map.nr_units()),
        )
    }

    #[test]
    fn close_passes_on_deferred_work() -> Result {
        let random = Random::new("close_passes_on_deferred_work");

        with_map(|whole, map| {
            let mut sum = 0;

            for index in [0, 1, 64, 5] {
                whole.install(index..=index, Node::possible, GFP_KERNEL, |_| ())?;
                for offset in [0, 63] {
                    map.add_deferred(ShrinkerId::new(index, offset), (index + offset) as isize)
                        .map_err(|_| EINVAL)?;
                    sum += (index + offset) as isize;
                }
            }
            let mut total = 0;
            let mut wrong = 0;
            let bytes = whole.bytes();
            let given = whole.close(|_, id, nr| {
                total += nr;
                wrong += i32::from(nr as u32 != id.index() + id.offset());
            });
            random.check(
                given == bytes && bytes != 0 && whole.bytes() == 0,
                0,
                fmt!("{given} bytes given back of {bytes}"),
            )?;
            random.check(
                total == sum && wrong == 0,
                0,
                fmt!("{total} of {sum} passed on, {wrong} with a wrong id"),
            )
        })
    }

    #[test]
    fn closed_map_stays_empty() -> Result {
        let random = Random::new("closed_map_stays_empty");

        with_map(|whole, map| {
            let id = ShrinkerId::new(2, 9);

            whole.install(id.index()..=id.index(), Node::possible, GFP_KERNEL, |_| ())?;
            random.check(map.set(id), 0, fmt!("the bit can't be set"))?;
            whole.close(|_, _, _| ());

            // Installing is not an error then, but must leave nothing behind.
            whole.install(id.index()..=id.index(), Node::possible, GFP_KERNEL, |_| ())?;
            random.check(!map.is_installed(id), 1, fmt!("installed after close"))?;
            random.check(map.set(id), 2, fmt!("a bit set late is taken for a bug"))?;
            random.check(
                map.take_strays().is_empty(),
                3,
                fmt!("a bit set late is a stray"),
            )?;
            random.check(
                map.add_deferred(id, 5) == Err(5),
                4,
                fmt!("a closed map takes work"),
            )?;
            random.check(map.next_pending(0).is_none(), 5, fmt!("a walk finds units"))
        })
    }
}
