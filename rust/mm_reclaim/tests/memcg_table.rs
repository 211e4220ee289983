// SPDX-License-Identifier: GPL-2.0

//! Memcgs by their private ids.

use kernel::{
    alloc::flags::GFP_KERNEL,
    prelude::*,
    sync::rcu, //
};

use super::{
    id_table::lend,
    random::Random, //
};
use crate::{
    memcg_bitmap::MemcgId,
    memcg_table::MemcgTable, //
};

/// The first and the last id, those at the end of a piece and next to it, and some that are the
/// same modulo other powers of two.
const IDS: [u32; 9] = [1, 65, 257, 511, 512, 513, 1025, 65_534, 65_535];

/// Too large for the stack. Each test leaves it with no memcg.
static TABLE: MemcgTable<u32> = MemcgTable::new();

fn id(number: u32) -> Result<MemcgId> {
    MemcgId::new(number).ok_or(EINVAL)
}

/// Compares what look-ups find with a model.
fn check(random: &Random, step: u32, model: &[Option<u32>; IDS.len()]) -> Result {
    for (number, &object) in IDS.into_iter().zip(model) {
        let found = TABLE.get(id(number)?, &rcu::read_lock()).copied();

        random.check(
            found == object,
            step,
            fmt!("id {number} is {found:?}, not {object:?}"),
        )?;
    }
    Ok(())
}

#[kunit_tests(mm_reclaim_memcg_table)]
mod cases {
    use super::*;

    #[test]
    fn finds_by_id() -> Result {
        let random = Random::new("finds_by_id");
        let mut model = [None; IDS.len()];

        check(&random, 0, &model)?;
        for ((at, number), object) in (0u32..).zip(IDS).zip(&mut model) {
            TABLE.reserve(id(number)?, GFP_KERNEL)?;
            TABLE.insert(id(number)?, lend(at)?);
            *object = Some(at);
        }
        check(&random, 1, &model)?;
        // An id that was given back goes to another memcg.
        TABLE.insert(id(512)?, lend(42)?);
        model[4] = Some(42);
        check(&random, 2, &model)?;
        for number in IDS {
            TABLE.remove(id(number)?);
        }
        check(&random, 3, &[None; IDS.len()])
    }

    #[test]
    fn needs_room() -> Result {
        let random = Random::new("needs_room");

        TABLE.remove(id(40_000)?);
        TABLE.insert(id(40_000)?, lend(1)?);
        let found = TABLE.get(id(40_000)?, &rcu::read_lock()).is_some();
        random.check(!found, 0, fmt!("something is there"))
    }
}
