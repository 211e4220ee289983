// SPDX-License-Identifier: GPL-2.0

//! What debugfs shows of a map.

use kernel::{
    prelude::*,
    seq_file::SeqFile,
    seq_print,
    sync::rcu, //
};

use crate::{
    map::on_node::HasMap,
    memcg::MemCgroup,
    shrinker_id::ShrinkerId,
    sys::{
        Node,
        SharedUnit, //
    },
    unit::Unit, //
};

/// Prints numbers, separated by commas.
fn list(m: &SeqFile, name: &str, numbers: impl Iterator<Item = u32>) {
    let mut separator = "";

    seq_print!(m, " {name}=");
    for nr in numbers {
        seq_print!(m, "{separator}{nr}");
        separator = ",";
    }
}

/// Prints a line with the map of a memcg on a node, if it has units there. Does not sleep.
pub(super) fn show(m: &SeqFile, memcg: &MemCgroup, node: Node) {
    let map = memcg.map_on(node);
    let guard = rcu::read_lock();
    let units = || map.units(&guard);
    let ids = |(index, unit): (u32, &Unit)| {
        unit.bits()
            .map(move |offset| ShrinkerId::new(index, offset).0)
    };
    let (mut nr_units, mut deferred) = (0usize, 0isize);

    for (_, unit) in units() {
        nr_units = nr_units.saturating_add(1);
        deferred = deferred.saturating_add(unit.sum_deferred());
    }
    if nr_units == 0 {
        return;
    }

    seq_print!(m, "cgroup={} node={}", memcg.id(), node.as_raw());
    seq_print!(m, " listed={}", u8::from(map.is_listed()));
    list(m, "units", units().map(|(index, _)| index));
    list(m, "ids", units().flat_map(ids));
    seq_print!(m, " deferred={deferred}");
    seq_print!(
        m,
        " bytes={}\n",
        nr_units.saturating_mul(size_of::<SharedUnit>())
    );
}
