// SPDX-License-Identifier: GPL-2.0

//! Bits and units.

use kernel::{
    alloc::flags::GFP_KERNEL,
    prelude::*, //
};

use super::random::Random;
use crate::{
    sys::{
        Node,
        SharedUnit, //
    },
    unit::Unit, //
};

const STEPS: u32 = 20_000;

#[kunit_tests(mm_reclaim_unit)]
mod tests {
    use super::*;

    #[test]
    fn new_unit_is_empty() -> Result {
        let random = Random::new("new_unit_is_empty");

        for node in Node::possible() {
            let unit = SharedUnit::alloc(GFP_KERNEL, node)?;

            random.check(unit.bits().is_empty(), 0, fmt!("a new unit has bits"))?;
            for offset in 0..Unit::LEN {
                let nr = unit.nr_deferred(offset);
                random.check(nr == 0, offset, fmt!("a new unit has deferred work: {nr}"))?;
            }
        }
        Ok(())
    }

    #[test]
    fn follows_model() -> Result {
        let mut random = Random::new("follows_model");
        let node = Node::possible().next().ok_or(ENODEV)?;
        let unit = SharedUnit::alloc(GFP_KERNEL, node)?;
        let mut bits = [false; Unit::LEN as usize];
        let mut deferred = [0isize; Unit::LEN as usize];

        for step in 0..STEPS {
            let offset = random.below(Unit::LEN);
            let at = offset as usize;

            match random.below(5) {
                0 | 1 => {
                    unit.set(offset);
                    bits[at] = true;
                }
                2 => {
                    unit.clear(offset);
                    bits[at] = false;
                }
                3 => {
                    let nr = random.below(1000) as isize - 300;
                    deferred[at] += nr;
                    let sum = unit.add_deferred(offset, nr);
                    random.check(sum == deferred[at], step, fmt!("sum {sum}"))?;
                }
                _ => {
                    let nr = unit.take_deferred(offset);
                    random.check(nr == deferred[at], step, fmt!("took {nr}"))?;
                    deferred[at] = 0;
                }
            }
            let model = (0..Unit::LEN).filter(|&offset| bits[offset as usize]);
            random.check(
                unit.bits().eq(model),
                step,
                fmt!("bits differ from the model"),
            )?;
        }
        Ok(())
    }
}
