// SPDX-License-Identifier: GPL-2.0

//! Random histories of one thread against what a map, an id or a list should be.
//!
//! The references know nothing of units, summaries or tables. On a failure, proptest prints the
//! shortest history that it finds.

use core::{
    iter,
    ops::Range,
    ptr::NonNull, //
};
use kernel::{
    alloc::flags::{
        GFP_KERNEL,
        GFP_NOWAIT, //
    },
    model,
    page::PAGE_SIZE,
    prelude::*,
    sync::rcu::{
        self,
        RcuFreed, //
    }, //
};
use proptest::{
    collection::vec,
    prelude::{
        any,
        prop_oneof,
        Just,
        Strategy, //
    },
    sample::select,
    test_runner::{
        Config,
        TestRunner, //
    }, //
};
use std::collections::{
    BTreeMap,
    BTreeSet, //
};

use crate::{
    deferred,
    id_table::{
        IdTable,
        Writer, //
    },
    iter::Verdict,
    lifecycle,
    map::on_node::{
        HasMap,
        MapOnNode, //
    },
    memcg::{
        walk_excess,
        MemCgroup,
        World, //
    },
    memcg_bitmap::{
        HasMemcgId,
        MemcgBitmap,
        MemcgId, //
    },
    shrinker::{
        Shrinker,
        ShrinkerIds,
        SHRINKERS, //
    },
    shrinker_id::ShrinkerId,
    soft_limit::{
        close,
        verdict,
        HasSoftLimit, //
    },
    sys::{
        Node,
        SharedUnit, //
    },
    table::Entry,
    unit::Unit, //
};

/// Plays histories of up to `len` steps.
fn play<S: core::fmt::Debug>(step: impl Strategy<Value = S>, len: usize, history: impl Fn(Vec<S>)) {
    let config = Config {
        cases: 256,
        failure_persistence: None,
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&vec(step, 1..len), |steps| {
        model::alone(|| history(steps));
        Ok(())
    });

    if let Err(failure) = result {
        panic!("{failure}");
    }
}

fn node(at: usize) -> Node {
    Node::possible().nth(at).unwrap()
}

/// The map of memcgs below each other.
mod map {
    use super::*;

    /// The root, and two more.
    const MEMCGS: usize = 3;
    /// Of the nodes, the last one has no memory.
    const NODES: usize = 3;

    /// Of units. Some share a bit of the summary.
    const INDICES: [u32; 6] = [0, 1, 63, 64, 65, 129];

    /// A shrinker's place: index and offset.
    type Place = (u32, u32);

    #[derive(Clone, Debug)]
    enum Step {
        /// The number is that of allocations that succeed.
        Install(usize, usize, u32, Option<usize>),
        InstallEverywhere(usize, u32, Option<usize>),
        Set(usize, usize, Place),
        /// On all nodes at once.
        SetOn(usize, Place),
        /// A walk that finds the shrinker empty.
        Clear(usize, usize, Place),
        TakeStray(usize, usize),
        AddDeferred(usize, usize, Place, i16),
        TakeDeferred(usize, usize, Place),
        Offline(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let memcg = || 0..MEMCGS;
        let node = || 0..NODES;
        let index = || select(&INDICES[..]);
        let place = move || (index(), select(&[0u32, 1, 62, 63][..]));

        prop_oneof![
            6 => (memcg(), node(), index(), Just(None))
                .prop_map(|(m, n, i, nr)| Step::Install(m, n, i, nr)),
            1 => (memcg(), node(), index(), (0usize..4).prop_map(Some))
                .prop_map(|(m, n, i, nr)| Step::Install(m, n, i, nr)),
            1 => (memcg(), index(), (0usize..6).prop_map(Some))
                .prop_map(|(m, i, nr)| Step::InstallEverywhere(m, i, nr)),
            6 => (memcg(), node(), place()).prop_map(|(m, n, p)| Step::Set(m, n, p)),
            3 => (memcg(), place()).prop_map(|(m, p)| Step::SetOn(m, p)),
            6 => (memcg(), node(), place()).prop_map(|(m, n, p)| Step::Clear(m, n, p)),
            2 => (memcg(), node()).prop_map(|(m, n)| Step::TakeStray(m, n)),
            4 => (memcg(), node(), place(), any::<i16>())
                .prop_map(|(m, n, p, nr)| Step::AddDeferred(m, n, p, nr)),
            2 => (memcg(), node(), place()).prop_map(|(m, n, p)| Step::TakeDeferred(m, n, p)),
            1 => (1..MEMCGS).prop_map(Step::Offline),
        ]
    }

    /// What should be.
    #[derive(Default)]
    struct Reference {
        closed: BTreeSet<usize>,
        installed: BTreeSet<(usize, usize, u32)>,
        bits: BTreeSet<(usize, usize, Place)>,
        strays: BTreeSet<(usize, usize, u32)>,
        deferred: BTreeMap<(usize, usize, Place), isize>,
    }

    impl Reference {
        fn has_unit(&self, memcg: usize, node: usize, (index, _): Place) -> bool {
            self.installed.contains(&(memcg, node, index))
        }

        fn install(&mut self, memcg: usize, nodes: Range<usize>, index: u32) {
            if !self.closed.contains(&memcg) {
                self.installed
                    .extend(nodes.map(|node| (memcg, node, index)));
            }
        }

        fn set(&mut self, memcg: usize, node: usize, place: Place) {
            if self.has_unit(memcg, node, place) {
                self.bits.insert((memcg, node, place));
            } else if !self.closed.contains(&memcg) {
                self.strays.insert((memcg, node, place.1));
            }
        }

        /// Gives work to a memcg or its nearest ancestor that has a place for it, on the node or, if
        /// nobody has one there, on the first, and returns the sum.
        fn add(&mut self, memcg: usize, node: usize, place: Place, nr: isize) -> isize {
            let heirs = |node| (0..=memcg).rev().map(move |at| (at, node));

            match heirs(node)
                .chain(heirs(0))
                .find(|&(at, node)| self.has_unit(at, node, place))
            {
                Some((heir, node)) => {
                    let sum = self.deferred.entry((heir, node, place)).or_default();
                    *sum += nr;
                    *sum
                }
                None => nr,
            }
        }

        fn take(&mut self, memcg: usize, node: usize, place: Place) -> isize {
            self.deferred.remove(&(memcg, node, place)).unwrap_or(0)
        }

        fn offline(&mut self, memcg: usize) {
            self.closed.insert(memcg);
            self.installed.retain(|&(at, ..)| at != memcg);
            self.bits.retain(|&(at, ..)| at != memcg);
            let deferred: Vec<_> = self
                .deferred
                .range(..)
                .map(|(&key, &nr)| (key, nr))
                .collect();
            for ((at, node, place), nr) in deferred {
                if at == memcg {
                    self.deferred.remove(&(at, node, place));
                    self.add(at, node, place, nr);
                }
            }
        }

        /// Compares with a memcg, as seen from a node.
        fn check(&self, memcg: &MemCgroup, at_node: usize) {
            let at = memcg.at;
            let map = memcg.map_on(node(at_node));
            let mut found = BTreeSet::new();
            let mut start = Some(0);

            while let Some(pending) = start.and_then(|start| map.next_pending(start)) {
                found.extend(
                    pending
                        .bits
                        .map(|offset| (at, at_node, (pending.index, offset))),
                );
                start = pending.next;
            }
            let bits = self
                .bits
                .range((at, at_node, (0, 0))..(at, at_node + 1, (0, 0)));
            assert!(found.iter().eq(bits), "a walk finds other bits");
            for &(.., (index, offset)) in &found {
                assert!(
                    map.is_set(ShrinkerId::new(index, offset)),
                    "a bit that is not set"
                );
            }

            let mut strays = self.strays.range((at, at_node, 0)..(at, at_node + 1, 0));
            let is_idle = found.is_empty() && strays.next().is_none();
            assert_eq!(
                map.is_listed(),
                at != 0 && !is_idle && !self.closed.contains(&at),
                "listed"
            );
            assert_eq!(memcg.map().is_closed(), self.closed.contains(&at), "closed");
        }
    }

    /// Tries to install, where so many allocations succeed, and returns whether that did.
    fn take_install<N: Iterator<Item = Node>>(
        memcg: &MemCgroup,
        nodes: impl Fn() -> N,
        index: u32,
        nr: Option<usize>,
    ) -> bool {
        let id = ShrinkerId::new(index, 0);

        model::fail_after(nr);
        let result = lifecycle::install_one(memcg, nodes, id, GFP_KERNEL);
        model::fail_after(None);
        assert!(nr.is_some() || result.is_ok(), "it fails without a reason");
        assert!(result.is_ok() || result == Err(ENOMEM), "an odd reason");
        result.is_ok()
    }

    fn take_step(world: &World, reference: &mut Reference, step: Step) {
        let memcgs = &world.memcgs;
        let id = |(index, offset)| ShrinkerId::new(index, offset);

        match step {
            Step::Install(m, n, index, nr) => {
                if take_install(&memcgs[m], || iter::once(node(n)), index, nr) {
                    reference.install(m, n..n + 1, index);
                }
            }
            Step::InstallEverywhere(m, index, nr) => {
                // The last node has no memory.
                if take_install(&memcgs[m], Node::with_memory, index, nr) {
                    reference.install(m, 0..NODES - 1, index);
                }
            }
            Step::Set(m, n, place) => {
                let is_closed = reference.closed.contains(&m);
                let has_unit = reference.has_unit(m, n, place);

                let done = memcgs[m].map_on(node(n)).set(id(place));
                assert_eq!(done, has_unit || is_closed, "set");
                reference.set(m, n, place);
            }
            Step::SetOn(m, place) => {
                MapOnNode::set_on(&*memcgs[m], (0..NODES).map(node), id(place));
                (0..NODES).for_each(|n| reference.set(m, n, place));
            }
            Step::Clear(m, n, place) => {
                let map = memcgs[m].map_on(node(n));

                map.clear(id(place));
                map.settle(place.0);
                map.unlist_if_idle();
                reference.bits.remove(&(m, n, place));
            }
            Step::TakeStray(m, n) => {
                let map = memcgs[m].map_on(node(n));

                let strays: BTreeSet<_> = map.take_strays().map(|at| (m, n, at)).collect();
                let is_here = |&&(at, at_node, _): &&_| (at, at_node) == (m, n);
                assert!(
                    strays.iter().eq(reference.strays.iter().filter(is_here)),
                    "strays"
                );
                reference.strays.retain(|stray| !is_here(&stray));
                map.unlist_if_idle();
            }
            Step::AddDeferred(m, n, place, nr) => {
                let nr = nr.into();
                let sum = deferred::add(&memcgs[m], node(n), id(place), nr);
                let expected = match nr {
                    0 => reference.deferred.get(&(m, n, place)).copied().unwrap_or(0),
                    _ => reference.add(m, n, place, nr),
                };

                assert_eq!(sum, expected, "the sum of deferred work");
            }
            Step::TakeDeferred(m, n, place) => {
                let nr = memcgs[m].map_on(node(n)).take_deferred(id(place));

                assert_eq!(nr, reference.take(m, n, place), "deferred work");
            }
            Step::Offline(m) => {
                lifecycle::offline(&memcgs[m]);
                reference.offline(m);
            }
        }
        for memcg in memcgs {
            let units = reference
                .installed
                .iter()
                .filter(|(at, ..)| *at == memcg.at);
            assert_eq!(memcg.map().nr_units(), units.count(), "the number of units");
            for (n, index) in (0..NODES).flat_map(|n| INDICES.map(|index| (n, index))) {
                assert_eq!(
                    memcg.map_on(node(n)).is_installed(id((index, 5))),
                    reference.has_unit(memcg.at, n, (index, 5)),
                    "installed"
                );
            }
            assert_eq!(
                memcg.map_bytes(),
                memcg.map().bytes() as isize,
                "what the map takes"
            );
            for n in 0..NODES {
                reference.check(memcg, n);
            }
        }
        for (&(m, n, place), &nr) in &reference.deferred {
            assert_eq!(
                memcgs[m].map_on(node(n)).nr_deferred(id(place)),
                nr,
                "deferred"
            );
        }
    }

    /// A new node takes a memcg one table, however many units it has elsewhere.
    #[test]
    fn new_node_takes_one_table() {
        model::alone(|| {
            let world = World::new(&[]);
            let root = &world.memcgs[0];

            for index in INDICES {
                let id = ShrinkerId::new(index, 0);

                lifecycle::install_one(root, Node::with_memory, id, GFP_KERNEL).unwrap();
            }
            model::add_node(NODES as i32 - 1);
            // The units and the list of them, the table and its box.
            model::fail_after(Some(INDICES.len() + 3));
            let result = lifecycle::add_node(node(NODES - 1));
            model::fail_after(None);

            assert_eq!(result, Ok(()));
            assert_eq!(root.map().nr_units(), NODES * INDICES.len());
        });
    }

    /// The table of the root is copied the more seldom the longer it is.
    #[test]
    fn root_takes_few_tables() {
        const UNITS: u32 = 32;

        model::alone(|| {
            let world = World::new(&[]);
            let root = &world.memcgs[0];
            // SAFETY: There is one thread.
            let mut ids: ShrinkerIds<'_> = unsafe { Writer::new(&SHRINKERS) };
            let mut sizes = BTreeSet::new();

            for _ in 0..UNITS * Unit::LEN {
                let id = lifecycle::register(&mut ids, Shrinker::new().initialize()).unwrap();

                assert!(root.map().has(id.index(), Node::with_memory));
                sizes.insert(root.map().nr_units());
            }
            // One for each of the first 8, then for 2 at a time, and then for 3 and 4.
            assert_eq!(sizes.len(), 8 + 4 + 5);
        });
    }

    /// Who may not sleep gets no table of more than a page.
    #[test]
    fn no_vmalloc_without_sleeping() {
        model::alone(|| {
            let world = World::new(&[1]);
            let memcg = &world.memcgs[1];
            let per_page = (PAGE_SIZE / size_of::<Entry>()) as u32;
            let install = |index, flags| {
                let (nodes, id) = (|| iter::once(node(0)), ShrinkerId::new(index, 0));

                lifecycle::install_one(memcg, nodes, id, flags)
            };

            for index in 0..per_page {
                install(index, GFP_NOWAIT).unwrap();
            }
            assert_eq!(install(per_page, GFP_NOWAIT), Err(ENOMEM));
            assert_eq!(memcg.map().nr_units(), per_page as usize);
            install(per_page, GFP_KERNEL).unwrap();
        });
    }

    #[test]
    fn map_history() {
        play(step(), 120, |steps| {
            let world = World::new(&[1, 2]);
            let mut reference = Reference::default();

            for step in steps {
                take_step(&world, &mut reference, step);
            }
        });
    }
}

/// The ids of shrinkers.
mod ids {
    use super::*;

    const LIMIT: u32 = 150;

    /// What gets ids.
    static OBJECTS: [u32; 256] = {
        let mut objects = [0; 256];
        let mut at = 0;

        while at < 256 {
            objects[at] = at as u32;
            at += 1;
        }
        objects
    };

    #[derive(Clone, Debug)]
    enum Step {
        /// Many ids at once, so that tables grow; the number is that of allocations that succeed.
        Take(u8, u32, Option<usize>),
        Free(u32),
        FreeAll(u32, u32),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (any::<u8>(), 1..40u32).prop_map(|(object, nr)| Step::Take(object, nr, None)),
            1 => (any::<u8>(), 1..40u32, 0..4usize)
                .prop_map(|(object, nr, successes)| Step::Take(object, nr, Some(successes))),
            6 => (0..LIMIT).prop_map(Step::Free),
            1 => (0..LIMIT, 0..LIMIT).prop_map(|(from, to)| Step::FreeAll(from, to)),
        ]
    }

    fn take(table: &mut IdTable<u32>, taken: &mut BTreeMap<u32, u32>, object: u8) -> Result {
        let mut ids = Writer::exclusive(table);
        let id = ids.find_free(GFP_KERNEL)?;
        let lowest = (0..).find(|id| !taken.contains_key(id)).unwrap();
        let object = &OBJECTS[usize::from(object)];

        assert_eq!(id.as_raw(), lowest as i32, "not the lowest that is free");
        // SAFETY: It lives for ever.
        ids.insert(id, unsafe { RcuFreed::new(NonNull::from(object)) });
        taken.insert(lowest, *object);
        Ok(())
    }

    fn take_step(table: &mut IdTable<u32>, taken: &mut BTreeMap<u32, u32>, step: Step) {
        match step {
            Step::Take(object, nr, successes) => {
                model::fail_after(successes);
                for _ in 0..nr {
                    match take(table, taken, object) {
                        Ok(()) => (),
                        Err(ENOSPC) => assert_eq!(taken.len(), LIMIT as usize, "not full"),
                        Err(err) => {
                            assert_eq!(err, ENOMEM, "an odd reason");
                            assert!(successes.is_some(), "it fails without a reason");
                        }
                    }
                }
                model::fail_after(None);
            }
            Step::Free(id) => {
                Writer::exclusive(table).remove(ShrinkerId::new(0, id));
                taken.remove(&id);
            }
            Step::FreeAll(from, to) => {
                for id in from..to {
                    Writer::exclusive(table).remove(ShrinkerId::new(0, id));
                    taken.remove(&id);
                }
            }
        }

        let ids = table.iter().map(|id| id.as_raw() as u32);
        assert!(ids.eq(taken.keys().copied()), "other ids are taken");
        let guard = rcu::read_lock();
        for id in 0..LIMIT + 70 {
            let object = table.get(ShrinkerId::new(0, id), &guard);
            assert_eq!(object, taken.get(&id), "another object");
        }
    }

    #[test]
    fn id_history() {
        play(step(), 60, |steps| {
            let mut table = IdTable::new(LIMIT);
            let mut taken = BTreeMap::new();

            for step in steps {
                take_step(&mut table, &mut taken, step);
            }
        });
    }
}

/// The list of memcgs.
mod list {
    use super::*;

    /// What is done with an id, and where a search begins.
    type Step = (bool, i32, u32);

    fn id() -> impl Strategy<Value = i32> {
        // Near each other, and on both sides of a summary and of the ends.
        prop_oneof![1..8i32, 60..70i32, 4090..4100i32, 8185..8192i32, 1..8192i32]
    }

    #[test]
    fn list_history() {
        let step = (any::<bool>(), id(), prop_oneof![0..8192u32, Just(8192)]);

        play(step, 200, |steps: Vec<Step>| {
            let list = MemcgBitmap::new();
            let mut listed = BTreeSet::new();

            for (is_set, id, start) in steps {
                let memcg = MemcgId::from_raw(id).unwrap();

                if is_set {
                    assert_eq!(list.set(memcg), listed.insert(id), "set");
                } else {
                    list.clear(memcg);
                    listed.remove(&id);
                }
                assert_eq!(list.contains(memcg), is_set, "contains");
                for start in [start, 0, id as u32, memcg.after()] {
                    let next = list.next(start).map(|id| i32::from(id.as_raw()));
                    assert_eq!(next, listed.range(start as i32..).next().copied(), "next");
                }
            }
        });
    }
}

/// One unit.
mod unit {
    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Set(u32),
        Clear(u32),
        Add(u32, i32),
        Take(u32),
    }

    #[test]
    fn unit_history() {
        let at = || 0..Unit::LEN;
        let step = prop_oneof![
            at().prop_map(Step::Set),
            at().prop_map(Step::Clear),
            (at(), any::<i32>()).prop_map(|(at, nr)| Step::Add(at, nr)),
            at().prop_map(Step::Take),
        ];

        play(step, 200, |steps| {
            let unit = SharedUnit::alloc(GFP_KERNEL, node(0)).unwrap();
            let mut bits = BTreeSet::new();
            let mut deferred = BTreeMap::<u32, isize>::new();

            for step in steps {
                match step {
                    Step::Set(at) => {
                        unit.set(at);
                        bits.insert(at);
                    }
                    Step::Clear(at) => {
                        unit.clear(at);
                        bits.remove(&at);
                    }
                    Step::Add(at, nr) => {
                        let sum = deferred.entry(at).or_default();
                        *sum += nr as isize;
                        assert_eq!(unit.add_deferred(at, nr as isize), *sum, "add");
                    }
                    Step::Take(at) => {
                        let nr = deferred.remove(&at).unwrap_or(0);
                        assert_eq!(unit.take_deferred(at), nr, "take");
                    }
                }
                assert!(unit.bits().eq(bits.iter().copied()), "bits");
                for at in 0..Unit::LEN {
                    let nr = deferred.get(&at).copied().unwrap_or(0);
                    assert_eq!(unit.nr_deferred(at), nr, "deferred");
                }
            }
        });
    }
}

/// Soft limits.
mod soft_limit {
    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Charge(usize, isize),
        Close(usize),
    }

    fn check(world: &World, closed: &BTreeSet<usize>) {
        let memcgs = &world.memcgs;
        let is_marked = |at: usize| memcgs[at].exceeds() && !closed.contains(&at);

        for (at, memcg) in memcgs.iter().enumerate() {
            let below = (at + 1..memcgs.len()).filter(|&at| is_marked(at)).count();

            assert_eq!(memcg.excess().is_marked(), is_marked(at), "mark");
            assert_eq!(memcg.excess().nr_below(), below as isize, "count");
            for root in 0..=at {
                let expected = match (root..=at).any(is_marked) {
                    true => Verdict::Visit,
                    false if below != 0 => Verdict::Skip,
                    false => Verdict::SkipTree,
                };
                assert!(verdict(&**memcg, &*memcgs[root]) == expected, "verdict");
            }
        }
        check_list(world, (0..memcgs.len()).find(|&at| is_marked(at)));
    }

    /// A walk visits those in excess, which are the highest one that is marked and all below it,
    /// and afterwards those without a mark are on the list no more.
    fn check_list(world: &World, highest: Option<usize>) {
        let root = &*world.memcgs[0];
        let mut visited = Vec::new();

        walk_excess(root, |memcg| {
            if verdict(memcg, root) == Verdict::Visit {
                visited.push(memcg.at);
            }
        });
        let end = world.memcgs.len();
        let expected: Vec<_> = (highest.unwrap_or(end)..end).collect();

        assert_eq!(visited, expected, "visited");
        for memcg in &world.memcgs {
            if let Some(id) = memcg.listed_id() {
                let is_listed = memcg.excess_bitmap().contains(id);

                assert_eq!(is_listed, memcg.excess().is_marked(), "listed");
            }
        }
    }

    #[test]
    fn soft_limit_history() {
        let step = prop_oneof![
            12 => (0..4usize, -12..15isize).prop_map(|(at, nr)| Step::Charge(at, nr)),
            1 => (1..4usize).prop_map(Step::Close),
        ];

        play(step, 100, |steps| {
            let world = World::new(&[1, 2, 3]);
            let mut closed = BTreeSet::new();
            // What was charged to each, and not to those below.
            let mut own = [0; 4];

            for step in steps {
                match step {
                    // A memcg can't be uncharged more than was charged to it.
                    Step::Charge(at, nr) => {
                        let nr = nr.max(-own[at]);
                        own[at] += nr;
                        world.memcgs[at].charge(nr);
                    }
                    Step::Close(at) => {
                        close(&*world.memcgs[at]);
                        closed.insert(at);
                    }
                }
                check(&world, &closed);
            }
        });
    }
}
