// SPDX-License-Identifier: GPL-2.0

//! What debugfs shows of a map.

use core::mem::size_of;
use kernel::{
    seq_file::SeqFile,
    seq_print, //
};

use crate::{
    map::on_node::HasMap,
    memcg::MemCgroup,
    shrinker_id::ShrinkerId,
    sys::{
        Node,
        SharedUnit, //
    }, //
};

/// Prints numbers, separated by commas.
struct List<'a> {
    m: &'a SeqFile,
    separator: &'static str,
}

impl<'a> List<'a> {
    fn new(m: &'a SeqFile, name: &str) -> Self {
        seq_print!(m, " {name}=");
        Self { m, separator: "" }
    }

    fn print(&mut self, nr: u32) {
        seq_print!(self.m, "{}{nr}", self.separator);
        self.separator = ",";
    }
}

/// Prints a line with the map of a memcg on a node, if it has units there. Does not sleep.
pub(super) fn show(m: &SeqFile, memcg: &MemCgroup, node: Node) {
    let map = memcg.map_on(node);
    let (mut nr_units, mut deferred) = (0usize, 0isize);

    map.for_each_unit(|_, unit| {
        nr_units = nr_units.saturating_add(1);
        deferred = deferred.saturating_add(unit.sum_deferred());
    });
    if nr_units == 0 {
        return;
    }

    seq_print!(m, "cgroup={} node={}", memcg.id(), node.as_raw());
    seq_print!(m, " listed={}", u8::from(map.is_listed()));
    let mut units = List::new(m, "units");
    map.for_each_unit(|index, _| units.print(index));
    let mut ids = List::new(m, "ids");
    map.for_each_unit(|index, unit| {
        for offset in unit.bits() {
            ids.print(ShrinkerId::new(index, offset).as_raw() as u32);
        }
    });
    seq_print!(m, " deferred={deferred}");
    seq_print!(
        m,
        " bytes={}\n",
        nr_units.saturating_mul(size_of::<SharedUnit>())
    );
}
