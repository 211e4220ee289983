// SPDX-License-Identifier: GPL-2.0

//! The protocols of Documentation/mm/mm_reclaim.rst, in every interleaving of two or three threads.
//!
//! Where there are many, those with more than a few preemptions are left out: see `preemptions`.
//! Mutants in tests/mutants/mutants.toml name the tests here that they fail, by the key `model`;
//! `make model` shows that they do, and that no test is left that nothing fails.

use kernel::{
    alloc::flags::GFP_KERNEL,
    model::{
        self,
        Options, //
    },
    sync::{
        barrier::{
            smp_mb,
            Full, //
        },
        rcu::{
            self,
            RcuRef, //
        }, //
    }, //
};
use std::{
    iter,
    ptr,
    rc::Rc, //
};

use crate::{
    deferred,
    id_table::Writer,
    iter::HasParent,
    lifecycle,
    map::on_node::HasMap,
    memcg::{
        walk_excess,
        MemCgroup,
        World, //
    },
    memcg_bitmap::{
        HasMemcgId,
        MemcgId, //
    },
    shrinker::{
        Shrinker,
        ShrinkerIds,
        Target,
        SHRINKERS, //
    },
    shrinker_id::ShrinkerId,
    soft_limit::{
        close,
        HasSoftLimit, //
    },
    sys::Node,
    unit::Unit,
    walk, //
};

/// What the threads of a test share.
struct Scene {
    world: World,
    shrinkers: Vec<(&'static Shrinker, ShrinkerId)>,
}

impl Scene {
    /// Creates memcgs with these ids below the root, and registers shrinkers.
    fn new(ids: &[i32], nr_shrinkers: usize) -> Self {
        let world = World::new(ids);
        let shrinkers = (0..nr_shrinkers).map(|_| register(Shrinker::new()));

        Self {
            shrinkers: shrinkers.collect(),
            world,
        }
    }

    fn memcg(&self, at: usize) -> &MemCgroup {
        &self.world.memcgs[at]
    }

    /// Gives the memcg at `at` units for all shrinkers.
    fn install(self, at: usize) -> Self {
        for &(_, id) in &self.shrinkers {
            install(self.memcg(at), id);
        }
        self
    }

    /// What `list_lru_add()` does: an object appears, and then the bit is set.
    fn add_object(&self, at: usize, which: usize) {
        let (shrinker, id) = self.shrinkers[which];

        shrinker.add_object(self.memcg(at));
        assert!(self.memcg(at).map_on(node()).set(id), "no unit");
    }

    fn walk(&self, at: usize) {
        walk_memcg(self.memcg(at));
    }

    /// Checks that a walk of all memcgs would find all objects of one that is online.
    fn check_found(&self, at: usize) {
        let memcg = self.memcg(at);
        let map = memcg.map_on(node());

        for &(shrinker, id) in &self.shrinkers {
            if shrinker.count(memcg) != 0 {
                assert!(map.is_set(id), "there is an object, but no bit");
                assert!(map.is_pending(id), "there is a bit, but no summary");
                assert!(map.is_listed(), "there is a summary, but no list");
                let listed = memcg.list().next(1);
                assert!(listed.is_some(), "the list does not find its bit");
            }
        }
    }
}

fn node() -> Node {
    Node::possible().next().unwrap()
}

/// What C does under `shrinker_mutex`: no test has two threads that do it.
fn shrinker_ids() -> ShrinkerIds<'static> {
    // SAFETY: As just said.
    unsafe { Writer::new(&SHRINKERS) }
}

fn register(shrinker: &'static Shrinker) -> (&'static Shrinker, ShrinkerId) {
    let id = lifecycle::register(&mut shrinker_ids(), shrinker.initialize()).unwrap();

    shrinker.register();
    (shrinker, id)
}

/// Installs the unit for `id` in one memcg.
fn install(memcg: &MemCgroup, id: ShrinkerId) {
    lifecycle::install_one(memcg, || iter::once(node()), id, GFP_KERNEL).unwrap();
}

fn walk_memcg(memcg: &MemCgroup) {
    walk::shrink_memcg(&Target {
        memcg,
        node: node(),
        gfp_mask: GFP_KERNEL.as_raw(),
        priority: 0,
    });
}

/// Walks all memcgs but the root, as `drop_slab()` does.
fn walk_all(scene: &Scene) {
    let root = scene.memcg(0);
    let mut pos = 1;

    while let Some(step) = walk::next_shrinkable(root, node(), &mut pos) {
        walk_memcg(step.get(root));
    }
}

/// Explores what `bodies` do at the same time with what `setup` made, and checks the outcome.
fn explore<const N: usize>(
    options: Options,
    setup: fn() -> Scene,
    bodies: [fn(&Scene); N],
    check: fn(&Scene),
) {
    for last in 0..N {
        let mut bodies = bodies;

        bodies.rotate_left(last);
        model::check(options, move || {
            let scene = Rc::new(setup());

            model::race(bodies.map(|body| {
                let scene = scene.clone();
                Box::new(move || body(&scene)) as Box<dyn FnOnce()>
            }));
            check(&scene);
        });
    }
}

/// Set against clear, and the summary and the list above it.
mod set_clear {
    use super::*;

    /// A memcg with a unit for one shrinker.
    fn installed() -> Scene {
        Scene::new(&[1], 1).install(1)
    }

    /// Its bit is set, and there is no object: a walk clears it.
    pub(super) fn bit() -> Scene {
        let scene = installed();

        scene.memcg(1).map_on(node()).set(scene.shrinkers[0].1);
        scene
    }

    /// Its bit was cleared by a walk, which left summary and list to the next one.
    pub(super) fn summary() -> Scene {
        let scene = bit();

        scene.memcg(1).map_on(node()).clear(scene.shrinkers[0].1);
        scene
    }

    #[test]
    fn object_against_walk() {
        explore(
            Options::default(),
            bit,
            [|scene| scene.add_object(1, 0), |scene| scene.walk(1)],
            |scene| scene.check_found(1),
        );
    }

    #[test]
    fn object_against_settling_walk() {
        explore(
            Options::default(),
            summary,
            [|scene| scene.add_object(1, 0), |scene| scene.walk(1)],
            |scene| scene.check_found(1),
        );
    }

    #[test]
    fn object_against_walk_of_all() {
        explore(
            Options::default(),
            summary,
            [|scene| scene.add_object(1, 0), walk_all],
            |scene| scene.check_found(1),
        );
    }

    #[test]
    fn object_against_two_walks() {
        explore(
            Options {
                preemptions: Some(3),
                ..Options::default()
            },
            bit,
            [
                |scene| scene.add_object(1, 0),
                |scene| scene.walk(1),
                |scene| scene.walk(1),
            ],
            |scene| scene.check_found(1),
        );
    }

    #[test]
    fn two_objects_against_walk() {
        explore(
            Options {
                preemptions: Some(3),
                ..Options::default()
            },
            || {
                let scene = Scene::new(&[1], 2).install(1);
                let map = scene.memcg(1).map_on(node());

                map.set(scene.shrinkers[0].1);
                map.clear(scene.shrinkers[0].1);
                scene
            },
            [
                |scene| scene.add_object(1, 0),
                |scene| scene.add_object(1, 1),
                |scene| scene.walk(1),
            ],
            |scene| scene.check_found(1),
        );
    }

    /// A walk settles the summary of one unit while another one, which shares it, is installed and
    /// gets its first bit.
    #[test]
    fn first_object_against_settling_walk() {
        explore(
            Options::default(),
            summary,
            [
                |scene| {
                    let memcg = scene.memcg(1);
                    let id = ShrinkerId::new(Unit::LEN, 0);

                    install(memcg, id);
                    assert!(memcg.map_on(node()).set(id));
                },
                |scene| scene.walk(1),
            ],
            |scene| {
                let map = scene.memcg(1).map_on(node());
                let id = ShrinkerId::new(Unit::LEN, 0);

                // A walk that comes to the bit clears it: no shrinker has the id.
                if map.is_set(id) {
                    assert!(map.is_pending(id), "there is a bit, but no summary");
                    assert!(map.is_listed(), "there is a summary, but no list");
                }
            },
        );
    }

    /// A bit without a unit.
    #[test]
    fn stray_against_walk() {
        explore(
            Options {
                nr_objects: 256,
                ..Options::default()
            },
            || {
                let scene = Scene::new(&[1], 1);

                scene
                    .memcg(1)
                    .map_on(node())
                    .set_stray(scene.shrinkers[0].1);
                scene
            },
            [
                |scene| {
                    let (shrinker, id) = scene.shrinkers[0];

                    shrinker.add_object(scene.memcg(1));
                    assert!(!scene.memcg(1).map_on(node()).set(id));
                },
                |scene| scene.walk(1),
            ],
            |scene| {
                let map = scene.memcg(1).map_on(node());

                assert!(!map.is_idle() && map.is_listed());
            },
        );
    }

    /// A bit without a unit, which is installed, for a neighbour, while a walk asks the shrinker.
    #[test]
    fn stray_against_install_and_walk() {
        explore(
            Options {
                nr_objects: 256,
                ..Options::default()
            },
            || {
                let scene = Scene::new(&[1], 1);
                let (shrinker, id) = scene.shrinkers[0];

                shrinker.add_object(scene.memcg(1));
                scene.memcg(1).map_on(node()).set(id);
                scene
            },
            [
                |scene| install(scene.memcg(1), ShrinkerId::new(0, 1)),
                |scene| scene.walk(1),
            ],
            |scene| {
                let map = scene.memcg(1).map_on(node());

                if !map.is_stray(scene.shrinkers[0].1) {
                    scene.check_found(1);
                }
                assert!(!map.is_idle() && map.is_listed());
            },
        );
    }
}

/// Installs against each other, against bits and against nodes.
mod install {
    use super::*;

    /// Ids in other units than the first one.
    fn other() -> ShrinkerId {
        ShrinkerId::new(1, 0)
    }

    fn third() -> ShrinkerId {
        ShrinkerId::new(2, 0)
    }

    /// Bits are set in units that a new table, with another one before them, shares with the old
    /// one.
    #[test]
    fn set_against_grow() {
        explore(
            Options::default(),
            || {
                let scene = Scene::new(&[1], 1);

                install(scene.memcg(1), other());
                install(scene.memcg(1), third());
                scene
            },
            [
                |scene| {
                    assert!(scene.memcg(1).map_on(node()).set(other()));
                    assert!(scene.memcg(1).map_on(node()).set(third()));
                },
                |scene| {
                    install(scene.memcg(1), scene.shrinkers[0].1);
                },
            ],
            |scene| {
                let map = scene.memcg(1).map_on(node());

                assert!(map.is_set(other()) && map.is_set(third()));
                assert!(map.is_installed(scene.shrinkers[0].1));
                assert_eq!(scene.memcg(1).map().nr_units(), 3);
            },
        );
    }

    fn add_second_node() {
        let node = Node::possible().nth(1).unwrap();

        model::add_node(node.as_raw());
        lifecycle::add_node(node).unwrap();
    }

    /// The first units against a setter that may find one: the table has its entries then.
    #[test]
    fn set_against_first_install() {
        explore(
            Options {
                nodes_change: true,
                ..Options::default()
            },
            || {
                let scene = Scene::new(&[1], 1);

                // A unit on each of two nodes: a table of one unit has no vector to read too early.
                add_second_node();
                scene
            },
            [
                |scene| {
                    let (shrinker, id) = scene.shrinkers[0];
                    let map = scene.memcg(1).map_on(node());

                    if map.is_installed(id) {
                        shrinker.add_object(scene.memcg(1));
                        assert!(map.set(id), "a unit vanished");
                    }
                },
                |scene| {
                    let id = scene.shrinkers[0].1;

                    lifecycle::install_one(scene.memcg(1), Node::with_memory, id, GFP_KERNEL)
                        .unwrap();
                },
            ],
            |scene| {
                assert_eq!(scene.memcg(1).map().nr_units(), 2);
                scene.check_found(1);
            },
        );
    }

    /// The table is replaced while an object comes, and a walk clears the bit of those that have
    /// gone: nothing is lost with the old table.
    #[test]
    fn object_and_clearing_walk_against_grow() {
        explore(
            Options {
                preemptions: Some(2),
                ..Options::default()
            },
            set_clear::bit,
            [
                |scene| scene.add_object(1, 0),
                |scene| scene.walk(1),
                |scene| install(scene.memcg(1), other()),
            ],
            |scene| {
                scene.check_found(1);
                assert!(scene.memcg(1).map_on(node()).is_installed(other()));
                assert_eq!(scene.memcg(1).map().nr_units(), 2);
            },
        );
    }

    /// The same with a walk that settles, and with bits in the new unit, for which the bit of the
    /// summary stands that the walk clears, and in another one.
    #[test]
    fn sets_and_settling_walk_against_grow() {
        /// Nobody has these ids, so that a walk that finds their bits may clear them.
        fn ids() -> [ShrinkerId; 2] {
            [other(), ShrinkerId::new(Unit::LEN, 0)]
        }

        explore(
            Options {
                preemptions: Some(2),
                ..Options::default()
            },
            || {
                let scene = set_clear::summary();

                install(scene.memcg(1), ids()[0]);
                scene
            },
            [
                |scene| assert!(scene.memcg(1).map_on(node()).set(ids()[0])),
                |scene| scene.walk(1),
                |scene| {
                    install(scene.memcg(1), ids()[1]);
                    assert!(scene.memcg(1).map_on(node()).set(ids()[1]));
                },
            ],
            |scene| {
                let map = scene.memcg(1).map_on(node());

                for id in ids().into_iter().filter(|&id| map.is_set(id)) {
                    assert!(map.is_pending(id), "there is a bit, but no summary");
                    assert!(map.is_listed(), "there is a summary, but no list");
                }
            },
        );
    }

    #[test]
    fn install_against_install() {
        explore(
            Options::default(),
            // A table of one unit has no vector, which is what must not be freed under RCU.
            || Scene::new(&[1], 1).install(1),
            [
                |scene| install(scene.memcg(1), other()),
                |scene| install(scene.memcg(1), third()),
            ],
            |scene| {
                let map = scene.memcg(1).map_on(node());

                assert!(map.is_installed(other()) && map.is_installed(third()));
                assert_eq!(scene.memcg(1).map().nr_units(), 3);
            },
        );
    }

    /// Of two units for the same ids only one may become visible, as a bit may be set in it.
    #[test]
    fn install_against_same_install() {
        fn install_and_set(scene: &Scene) {
            let memcg = scene.memcg(1);

            install(memcg, scene.shrinkers[0].1);
            scene.add_object(1, 0);
        }

        explore(
            Options::default(),
            || Scene::new(&[1], 1),
            [install_and_set, |scene| {
                install(scene.memcg(1), scene.shrinkers[0].1);
            }],
            |scene| {
                scene.check_found(1);
                assert_eq!(scene.memcg(1).map().nr_units(), 1);
            },
        );
    }

    #[test]
    fn three_installs() {
        explore(
            Options {
                preemptions: Some(3),
                ..Options::default()
            },
            || Scene::new(&[1], 1),
            [
                |scene| install(scene.memcg(1), other()),
                |scene| install(scene.memcg(1), other()),
                |scene| install(scene.memcg(1), third()),
            ],
            |scene| assert_eq!(scene.memcg(1).map().nr_units(), 2),
        );
    }

    /// Whoever has a unit on a node has it there in all memcgs above, too.
    fn check_above(scene: &Scene) {
        for (child, node) in scene.world.memcgs[1..]
            .iter()
            .flat_map(|child| Node::possible().map(move |node| (child, node)))
        {
            // The child first: what it has came to the parent before.
            if child.map_on(node).is_installed(other()) {
                let parent = child.parent().unwrap();

                // ORDERING: That of `set`, before who inherits an object looks for its unit.
                smp_mb(Full);
                assert!(parent.map_on(node).is_installed(other()), "not above");
            }
        }
    }

    /// Who finds the unit of a memcg asks no further. Then the memcg and its parent go offline, and
    /// those above get theirs all the same.
    #[test]
    fn install_from_top() {
        explore(
            Options {
                nr_objects: 320,
                preemptions: Some(2),
                ..Options::default()
            },
            || Scene::new(&[1, 2], 0),
            [
                |scene| {
                    let nodes = || iter::once(node());

                    lifecycle::install(scene.memcg(2), nodes, other(), GFP_KERNEL).unwrap();
                },
                |scene| {
                    check_above(scene);
                    // Those that are offline have no units, which says nothing of the others.
                    scene.memcg(2).go_offline();
                    scene.memcg(1).go_offline();
                },
            ],
            |scene| assert!(scene.memcg(0).map_on(node()).is_installed(other())),
        );
    }

    /// A memcg and those above it get a unit while a second node gets memory.
    fn race_new_node(install: fn(&Scene), check: fn(&Scene)) {
        explore(
            Options {
                nodes_change: true,
                preemptions: Some(2),
                ..Options::default()
            },
            || Scene::new(&[1], 0),
            [install, |_| add_second_node()],
            check,
        );
    }

    /// The unit is wanted on the first node; on the second one it is found there.
    #[test]
    fn install_from_top_against_new_node() {
        race_new_node(
            |scene| {
                let nodes = || iter::once(node());

                lifecycle::install(scene.memcg(1), nodes, other(), GFP_KERNEL).unwrap();
            },
            check_above,
        );
    }

    /// It is wanted on all nodes: then it is there in the end.
    #[test]
    fn install_everywhere_against_new_node() {
        race_new_node(
            |scene| {
                let memcg = scene.memcg(1);

                lifecycle::install(memcg, Node::with_memory, other(), GFP_KERNEL).unwrap();
            },
            |scene| {
                assert!(scene.memcg(1).map().has(other().index(), Node::possible));
                check_above(scene);
            },
        );
    }

    /// A node gets memory meanwhile: either the installer sees it, or the one who adds it sees the
    /// unit and installs the same on the new node.
    #[test]
    fn install_against_new_node() {
        explore(
            Options {
                nodes_change: true,
                ..Options::default()
            },
            || Scene::new(&[], 0),
            [
                |scene| {
                    lifecycle::install_one(scene.memcg(0), Node::with_memory, other(), GFP_KERNEL)
                        .unwrap();
                },
                |_| add_second_node(),
            ],
            |scene| {
                for node in Node::possible() {
                    assert!(scene.memcg(0).map_on(node).is_installed(other()));
                }
            },
        );
    }
}

/// The list of memcgs with pages on lists.
mod lru {
    use super::*;
    use crate::reclaimable::{
        unlist_if_empty,
        HasLru, //
    };

    /// Those with pages must be listed. That others are is found out later.
    fn check(scene: &Scene) {
        for memcg in &scene.world.memcgs[1..] {
            assert!(
                memcg.nr_pages() == 0 || memcg.has_lru_bit(node()),
                "not listed"
            );
        }
    }

    /// A scene with a memcg that was listed for a page that is gone.
    fn listed(ids: &[i32], at: usize) -> Scene {
        let scene = Scene::new(ids, 0);

        scene.memcg(at).add_page(node());
        scene.memcg(at).remove_page();
        scene
    }

    #[test]
    fn page_against_walk() {
        explore(
            Options::default(),
            || listed(&[1], 1),
            [
                |scene| scene.memcg(1).add_page(node()),
                |scene| unlist_if_empty(scene.memcg(1), node()),
            ],
            check,
        );
    }

    /// The pages of one that goes come to its parent, which a walk finds without any.
    #[test]
    fn walk_against_reparent() {
        explore(
            Options::default(),
            || {
                let scene = listed(&[1, 2], 1);

                scene.memcg(2).add_page(node());
                scene
            },
            [
                |scene| unlist_if_empty(scene.memcg(1), node()),
                |scene| scene.memcg(2).go_offline(),
            ],
            check,
        );
    }

    /// Another memcg takes the id, and gets a page.
    #[test]
    fn walk_against_new_owner() {
        explore(
            Options::default(),
            || listed(&[0, 1], 2),
            [
                |scene| unlist_if_empty(scene.memcg(2), node()),
                |scene| {
                    scene.memcg(2).go_offline();
                    scene.memcg(1).take_id(1);
                    scene.memcg(1).add_page(node());
                },
            ],
            check,
        );
    }

    /// The page goes to the parent, sooner or later, and nobody is listed by the id that is free.
    #[test]
    fn page_against_close() {
        explore(
            Options::default(),
            || Scene::new(&[1, 2], 0),
            [
                |scene| scene.memcg(2).add_page(node()),
                |scene| scene.memcg(2).go_offline(),
            ],
            |scene| {
                let id = MemcgId::new(2).unwrap();

                check(scene);
                assert_eq!(scene.memcg(1).nr_pages(), 1);
                assert!(
                    !scene.memcg(0).lru_bitmap(node()).contains(id),
                    "still listed"
                );
            },
        );
    }
}

/// Going offline.
mod offline {
    use super::*;

    /// Atomics, with the counters of two memcgs' units.
    fn counters() -> Options {
        Options {
            nr_objects: 192,
            ..Options::default()
        }
    }

    #[test]
    fn install_against_close() {
        explore(
            counters(),
            || Scene::new(&[1], 1),
            [
                |scene| {
                    install(scene.memcg(1), scene.shrinkers[0].1);
                },
                |scene| scene.memcg(1).go_offline(),
            ],
            |scene| {
                assert!(scene.memcg(1).map().is_closed());
                assert_eq!(scene.memcg(1).map().nr_units(), 0);
            },
        );
    }

    /// All the work that was left over arrives at the parent, once.
    #[test]
    fn deferred_against_close() {
        explore(
            counters(),
            || Scene::new(&[1], 1).install(1),
            [
                |scene| {
                    deferred::add(scene.memcg(1), node(), scene.shrinkers[0].1, 5);
                },
                |scene| scene.memcg(1).go_offline(),
            ],
            |scene| {
                let root = scene.memcg(0).map_on(node());
                let nr = root.nr_deferred(scene.shrinkers[0].1);

                assert_eq!(nr, 5, "left over: {nr} of 5");
            },
        );
    }

    /// Two that leave work over: one of the two, both or none may find the map closed.
    #[test]
    fn two_deferred_against_close() {
        fn add(scene: &Scene) {
            deferred::add(scene.memcg(1), node(), scene.shrinkers[0].1, 5);
        }

        explore(
            Options {
                preemptions: Some(3),
                ..counters()
            },
            || Scene::new(&[1], 1).install(1),
            [add, add, |scene| scene.memcg(1).go_offline()],
            |scene| {
                let root = scene.memcg(0).map_on(node());
                let nr = root.nr_deferred(scene.shrinkers[0].1);

                assert_eq!(nr, 10, "left over: {nr} of 10");
            },
        );
    }

    /// Who is gone is not listed.
    #[test]
    fn set_against_close() {
        explore(
            counters(),
            || Scene::new(&[1], 1).install(1),
            [
                |scene| scene.add_object(1, 0),
                |scene| lifecycle::offline(scene.memcg(1)),
            ],
            |scene| assert!(!scene.memcg(1).map_on(node()).is_listed(), "still listed"),
        );
    }

    /// A walk finds the object that comes too late, or its bit is gone with the map.
    #[test]
    fn set_and_walk_against_close() {
        explore(
            Options {
                preemptions: Some(2),
                ..counters()
            },
            || Scene::new(&[1], 1).install(1),
            [
                |scene| scene.add_object(1, 0),
                walk_all,
                |scene| lifecycle::offline(scene.memcg(1)),
            ],
            |scene| assert!(!scene.memcg(1).map_on(node()).is_listed(), "still listed"),
        );
    }

    #[test]
    fn walk_against_close() {
        explore(
            counters(),
            || {
                let scene = Scene::new(&[1], 1).install(1);

                scene.add_object(1, 0);
                scene
            },
            [walk_all, |scene| lifecycle::offline(scene.memcg(1))],
            |scene| assert!(!scene.memcg(1).map_on(node()).is_listed(), "still listed"),
        );
    }
}

/// The list of memcgs.
mod list {
    use super::*;

    fn id(id: i32) -> MemcgId {
        MemcgId::from_raw(id).unwrap()
    }

    /// Both raise the limit of the bitmap.
    #[test]
    fn list_against_higher() {
        explore(
            Options::default(),
            || Scene::new(&[], 0),
            [
                |scene| {
                    scene.memcg(0).list().set(id(70));
                },
                |scene| {
                    scene.memcg(0).list().set(id(200));
                },
            ],
            |scene| {
                let list = scene.memcg(0).list();

                assert!(list.next(1) == Some(id(70)), "not found");
                assert!(
                    list.next(71) == Some(id(200)),
                    "the higher one is not found"
                );
            },
        );
    }

    /// A memcg goes offline, and another one gets its id, and an object, while a walk takes the id
    /// off the list.
    #[test]
    fn unlist_against_new_owner() {
        explore(
            Options {
                nr_objects: 192,
                ..Options::default()
            },
            || {
                let scene = Scene::new(&[1, 0], 1).install(1).install(2);

                scene.memcg(1).map_on(node()).set(scene.shrinkers[0].1);
                scene
            },
            [
                |scene| {
                    scene.memcg(1).go_offline();
                    scene.memcg(2).take_id(1);
                    scene.add_object(2, 0);
                },
                walk_all,
            ],
            |scene| scene.check_found(2),
        );
    }
}

/// Ids.
mod ids {
    use super::*;

    /// Who finds a shrinker finds it initialized, also while the table grows.
    #[test]
    fn lookup_against_register() {
        explore(
            Options {
                needs_dependencies: true,
                ..Options::default()
            },
            || Scene::new(&[], 0),
            [
                |_| {
                    let guard = rcu::read_lock();

                    if let Some(shrinker) = SHRINKERS.get(ShrinkerId::new(0, 0), &guard) {
                        assert!(shrinker.is_initialized(), "found too early");
                    }
                },
                |_| {
                    register(Shrinker::new());
                },
            ],
            |_| {
                assert_eq!(SHRINKERS.iter().count(), 1);
            },
        );
    }

    /// The pointer alone.
    #[test]
    fn lookup_against_publish() {
        thread_local! {
            static SLOT: RcuRef<Shrinker> = const { RcuRef::new() };
        }

        explore(
            Options {
                needs_dependencies: true,
                ..Options::default()
            },
            || Scene::new(&[], 0),
            [
                |_| {
                    let guard = rcu::read_lock();

                    if let Some(shrinker) = SLOT.with(|slot| slot.get(&guard).map(ptr::from_ref)) {
                        // SAFETY: It lives as long as the scene.
                        let shrinker = unsafe { &*shrinker };
                        assert!(shrinker.is_initialized(), "found too early");
                    }
                },
                |_| SLOT.with(|slot| slot.set(Some(Shrinker::new().initialize()))),
            ],
            |_| (),
        );
    }

    /// A table that is full gives way to a larger one while somebody reads it.
    #[test]
    fn lookup_against_growth() {
        explore(
            Options {
                nr_objects: 256,
                ..Options::default()
            },
            || Scene::new(&[], Unit::LEN as usize),
            [
                |_| {
                    let guard = rcu::read_lock();

                    assert!(SHRINKERS.get(ShrinkerId::new(0, 5), &guard).is_some());
                    assert!(SHRINKERS.get(ShrinkerId::new(0, 9), &guard).is_some());
                },
                |_| {
                    register(Shrinker::new());
                },
            ],
            |_| {
                assert_eq!(SHRINKERS.iter().count(), 65);
            },
        );
    }

    /// A walk that meets a bit whose shrinker is gone, while another shrinker gets the id and an
    /// object.
    #[test]
    fn walk_against_new_owner() {
        explore(
            Options::default(),
            || {
                let mut scene = Scene::new(&[1], 1).install(1);
                let (_, id) = scene.shrinkers[0];

                scene.memcg(1).map_on(node()).set(id);
                lifecycle::unregister(&mut shrinker_ids(), id);
                scene.shrinkers = vec![(Shrinker::new(), id)];
                scene
            },
            [
                |scene| {
                    let (shrinker, id) = scene.shrinkers[0];
                    let new =
                        lifecycle::register(&mut shrinker_ids(), shrinker.initialize()).unwrap();

                    assert!(new == id);
                    scene.add_object(1, 0);
                    shrinker.register();
                },
                |scene| scene.walk(1),
            ],
            |scene| scene.check_found(1),
        );
    }
}

/// Soft limits.
mod soft_limit {
    use super::*;

    /// Who exceeds its limit is marked, and its ancestors count it.
    fn check_marks(scene: &Scene) {
        let memcgs = &scene.world.memcgs;

        for (at, memcg) in memcgs.iter().enumerate() {
            let below = memcgs[at + 1..].iter();
            let nr = below.filter(|memcg| memcg.excess().is_marked()).count();

            assert_eq!(memcg.excess().nr_below(), nr as isize, "the count is wrong");
        }
    }

    fn check_excess(scene: &Scene) {
        check_marks(scene);
        for memcg in &scene.world.memcgs {
            assert_eq!(
                memcg.excess().is_marked(),
                memcg.exceeds(),
                "the mark is wrong"
            );
        }
    }

    fn nobody() -> Scene {
        Scene::new(&[1], 0)
    }

    #[test]
    fn charge_against_uncharge() {
        explore(
            Options {
                preemptions: Some(3),
                ..Options::default()
            },
            nobody,
            [
                |scene| scene.memcg(1).charge(20),
                |scene| {
                    scene.memcg(1).charge(5);
                    scene.memcg(1).charge(-20);
                },
            ],
            check_excess,
        );
    }

    #[test]
    fn charge_against_charge() {
        explore(
            Options::default(),
            nobody,
            [
                |scene| scene.memcg(1).charge(20),
                |scene| scene.memcg(1).charge(20),
            ],
            check_excess,
        );
    }

    #[test]
    fn uncharge_against_uncharge() {
        explore(
            Options::default(),
            || {
                let scene = nobody();

                scene.memcg(1).charge(20);
                scene
            },
            [
                |scene| scene.memcg(1).charge(-10),
                |scene| scene.memcg(1).charge(-10),
            ],
            check_excess,
        );
    }

    /// A mark that comes too late is taken back.
    #[test]
    fn charge_against_close() {
        explore(
            Options::default(),
            nobody,
            [
                |scene| scene.memcg(1).charge(20),
                |scene| close(scene.memcg(1)),
            ],
            |scene| {
                check_marks(scene);
                assert!(!scene.memcg(1).excess().is_marked(), "marked for ever");
            },
        );
    }

    #[test]
    fn charge_against_uncharge_and_close() {
        explore(
            Options {
                preemptions: Some(2),
                ..Options::default()
            },
            nobody,
            [
                |scene| scene.memcg(1).charge(20),
                |scene| {
                    scene.memcg(1).charge(5);
                    scene.memcg(1).charge(-5);
                },
                |scene| close(scene.memcg(1)),
            ],
            |scene| {
                check_marks(scene);
                assert!(!scene.memcg(1).excess().is_marked(), "marked for ever");
            },
        );
    }

    /// Who is marked is found by the next walk.
    fn check_listed(scene: &Scene) {
        for memcg in &scene.world.memcgs {
            if let Some(id) = memcg.listed_id().filter(|_| memcg.excess().is_marked()) {
                assert!(memcg.excess_bitmap().contains(id), "never visited");
            }
        }
    }

    /// The memcg is listed still from when it was in excess before.
    fn was_in_excess() -> Scene {
        let scene = nobody();

        scene.memcg(1).charge(20);
        scene.memcg(1).charge(-20);
        scene
    }

    #[test]
    fn mark_against_walk() {
        explore(
            Options::default(),
            was_in_excess,
            [
                |scene| scene.memcg(1).charge(20),
                |scene| walk_excess(scene.memcg(0), |_| ()),
            ],
            check_listed,
        );
    }

    /// The id went to another memcg, and is listed still: by one that was late to mark the memcg
    /// that went offline.
    #[test]
    fn mark_against_walk_with_reused_id() {
        explore(
            Options::default(),
            || {
                let scene = Scene::new(&[1, 0], 0);

                scene.memcg(1).go_offline();
                scene.memcg(0).excess_bitmap().set(MemcgId::new(1).unwrap());
                scene
            },
            [
                |scene| {
                    scene.memcg(2).take_id(1);
                    scene.memcg(2).charge(20);
                },
                |scene| walk_excess(scene.memcg(0), |_| ()),
            ],
            check_listed,
        );
    }
}

/// What the kernel crate has got for this one.
mod slot {
    use super::*;
    use kernel::{
        prelude::*,
        sync::rcu::{
            RcuBox,
            RcuSlot, //
        }, //
    };

    /// A reference to the value of a slot does not borrow the slot: the value is freed, but not
    /// before the reader has left.
    #[test]
    fn dropped_under_reader() {
        model::alone(|| {
            let slot = RcuSlot::<KVVec<u32>>::new();
            let value = KVVec::with_capacity(1, GFP_KERNEL).unwrap();
            let new = RcuBox::new(value, GFP_KERNEL).ok().unwrap();
            let guard = rcu::read_lock();

            assert!(slot.replace(&slot.read(&guard), new).is_ok());
            let value = slot.read(&guard).get().unwrap();
            drop(slot);
            assert!(value.is_empty());
        });
    }
}

/// The statistics of removed memcgs. Each is the parent of the next one.
mod dying {
    use super::*;
    use crate::{
        dying::drain,
        iter::Group, //
    };

    fn options(preemptions: Option<usize>) -> Options {
        Options {
            preemptions,
            waits: true,
            ..Options::default()
        }
    }

    /// Drains the memcgs at these places, as if they were removed in this order.
    fn drain_all(scene: &Scene, places: &[usize]) {
        let mut places = places.iter();

        let next = || places.next().and_then(|&at| scene.memcg(at).try_get());

        drain::<MemCgroup>(next);
    }

    fn check(scene: &Scene, nr: usize) {
        scene.memcg(1).flush_stats();
        let found: usize = (0..=2).map(|at| scene.memcg(at).nr_events()).sum();

        assert_eq!(found, nr, "events are lost, or there twice");
    }

    #[test]
    fn write_against_drain() {
        explore(
            options(None),
            || Scene::new(&[1, 2], 0),
            [
                |scene| scene.memcg(2).count_event(),
                |scene| drain_all(scene, &[2]),
            ],
            |scene| check(scene, 1),
        );
    }

    #[test]
    fn write_against_drain_of_both() {
        explore(
            options(Some(3)),
            || Scene::new(&[1, 2], 0),
            [
                |scene| scene.memcg(2).count_event(),
                |scene| drain_all(scene, &[2, 1]),
            ],
            |scene| check(scene, 1),
        );
    }

    /// The child was drained before, and writes to its parent.
    #[test]
    fn write_against_drain_of_parent() {
        explore(
            options(Some(3)),
            || {
                let scene = Scene::new(&[1, 2], 0);

                drain_all(&scene, &[2]);
                scene
            },
            [
                |scene| scene.memcg(2).count_event(),
                |scene| drain_all(scene, &[1]),
            ],
            |scene| check(scene, 1),
        );
    }

    /// The child is flushed, which has something to be flushed, while `drain` runs.
    fn flush_against(drain: fn(&Scene)) {
        explore(
            options(None),
            || {
                let scene = Scene::new(&[1, 2], 0);

                scene.memcg(2).count_event();
                scene
            },
            [|scene| scene.memcg(2).flush_stats(), drain],
            |scene| check(scene, 1),
        );
    }

    /// The child, whose last reference is gone, was not drained, and is flushed for the last time.
    #[test]
    fn flush_of_child_against_drain() {
        flush_against(|scene| drain_all(scene, &[1]));
    }

    #[test]
    fn flush_against_drain() {
        flush_against(|scene| drain_all(scene, &[2]));
    }
}
