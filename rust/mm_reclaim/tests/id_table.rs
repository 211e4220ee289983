// SPDX-License-Identifier: GPL-2.0

//! Shrinker ids.

use kernel::{
    alloc::flags::GFP_KERNEL,
    prelude::*,
    sync::rcu::{
        self,
        RcuFreed, //
    }, //
};

use super::random::Random;
use crate::{
    id_table::{
        IdTable,
        Writer, //
    },
    shrinker_id::ShrinkerId, //
};

const STEPS: u32 = 20_000;
const LIMIT: u32 = 200;

/// What gets ids: numbers, which live longer than the table.
static OBJECTS: [u32; LIMIT as usize] = {
    let mut objects = [0; LIMIT as usize];
    let mut i = 0;

    while i < objects.len() {
        objects[i] = i as u32;
        i += 1;
    }
    objects
};

pub(super) fn lend(nr: u32) -> Result<RcuFreed<u32>> {
    Ok(OBJECTS.get(nr as usize).ok_or(EINVAL)?.into())
}

fn insert(table: &mut IdTable<u32>, nr: u32) -> Result<ShrinkerId> {
    let mut ids = Writer::exclusive(table);
    let id = ids.find_free(GFP_KERNEL)?;

    ids.insert(id, lend(nr)?);
    Ok(id)
}

fn get(table: &IdTable<u32>, id: u32) -> Option<u32> {
    let guard = rcu::read_lock();

    table.get(ShrinkerId::new(0, id), &guard).copied()
}

fn check_model(random: &Random, step: u32, table: &IdTable<u32>, model: &[Option<u32>]) -> Result {
    for (id, &object) in (0u32..).zip(model) {
        let found = get(table, id);
        random.check(
            found == object,
            step,
            fmt!("id {id} is {found:?}, not {object:?}"),
        )?;
    }
    let taken = (0u32..).zip(model).filter(|(_, object)| object.is_some());
    let same = table
        .iter()
        .map(ShrinkerId::as_raw)
        .eq(taken.map(|(id, _)| id as i32));
    random.check(same, step, fmt!("the ids in turn differ from the model"))
}

fn run_model(random: &mut Random, table: &mut IdTable<u32>) -> Result {
    let mut model = [None; LIMIT as usize];

    for step in 0..STEPS {
        // Phases that mostly take ids and such that mostly free them reach both ends.
        let takes = if step / 1000 % 2 == 0 { 3 } else { 1 };

        if random.below(4) < takes {
            let object = random.below(LIMIT);
            let lowest = model.iter().position(Option::is_none);

            match (insert(table, object), lowest) {
                (Ok(id), Some(lowest)) => {
                    random.check(
                        id.as_raw() as usize == lowest,
                        step,
                        fmt!("got id {}, not the lowest, {lowest}", id.as_raw()),
                    )?;
                    model[lowest] = Some(object);
                }
                (Err(err), None) => {
                    random.check(err == ENOSPC, step, fmt!("exhaustion gives {err:?}"))?;
                }
                (result, _) => {
                    let ok = result.is_ok();
                    random.check(false, step, fmt!("{ok} with lowest {lowest:?}"))?;
                }
            }
        } else {
            let id = random.below(LIMIT);

            Writer::exclusive(table).remove(ShrinkerId::new(0, id));
            model[id as usize] = None;
        }
        if step % 64 == 0 {
            check_model(random, step, table, &model)?;
        }
    }
    check_model(random, STEPS, table, &model)
}

#[kunit_tests(mm_reclaim_id)]
mod tests {
    use super::*;

    #[test]
    fn follows_model() -> Result {
        let mut random = Random::new("follows_model");

        run_model(&mut random, &mut IdTable::new(LIMIT))
    }

    #[test]
    fn finding_takes_nothing() -> Result {
        let random = Random::new("finding_takes_nothing");
        let mut table = IdTable::<u32>::new(LIMIT);

        for step in 0..3 {
            let id = Writer::exclusive(&mut table)
                .find_free(GFP_KERNEL)?
                .as_raw();
            random.check(id == 0, step, fmt!("id {id} is free, not 0"))?;
        }
        let empty = table.iter().next().is_none();
        random.check(empty, 0, fmt!("an id was taken"))
    }

    #[test]
    fn full_table_gives_enospc() -> Result {
        let random = Random::new("full_table_gives_enospc");
        let mut table = IdTable::<u32>::new(1);
        let first = insert(&mut table, 0).map(ShrinkerId::as_raw);
        let second = insert(&mut table, 1).map(ShrinkerId::as_raw);

        random.check(first == Ok(0), 0, fmt!("the first id is {first:?}"))?;
        random.check(second == Err(ENOSPC), 1, fmt!("then {second:?}"))
    }

    #[test]
    fn parts_of_an_id() {
        let id = ShrinkerId::new(3, 5);

        assert_eq!(id.as_raw(), 3 * 64 + 5);
        assert_eq!(id.index(), 3);
        assert_eq!(id.offset(), 5);
        assert!(ShrinkerId::from_raw(-1).is_none());
        assert!(ShrinkerId::from_raw(id.as_raw()) == Some(id));
    }
}
