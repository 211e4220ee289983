// SPDX-License-Identifier: GPL-2.0

//! Hierarchies of groups that are no memcgs.

#[cfg(CONFIG_MEMCG_V1)]
use core::cell::Cell;
use core::{
    ptr::{
        self,
        NonNull, //
    },
    slice, //
};
use kernel::{
    alloc::flags::GFP_KERNEL,
    prelude::*,
    sync::{
        aref::{
            ARef,
            AlwaysRefCounted, //
        },
        atomic::{
            Atomic,
            Full,
            Relaxed, //
        },
        rcu::Guard, //
    }, //
};

use super::{
    dying::TestStats,
    random::Random, //
};
use crate::{
    iter::{
        self,
        Cookie,
        Group,
        HasParent,
        Order,
        SharedPosition,
        Step,
        Verdict, //
    },
    memcg_bitmap::{
        HasMemcgId,
        MemcgId, //
    },
    priority::PriorityState,
    retain::RetainState, //
};
#[cfg(CONFIG_MEMCG_V1)]
use crate::{
    memcg_bitmap::MemcgBitmap,
    soft_limit::{
        HasSoftLimit,
        SoftLimitState, //
    },
    sys::Node, //
};

/// The list of all groups in excess. Tests run one after the other.
#[cfg(CONFIG_MEMCG_V1)]
static IN_EXCESS: MemcgBitmap = MemcgBitmap::new();

/// A group of a hierarchy that stands in pre-order in a slice.
pub(super) struct TestGroup {
    /// The place in the slice.
    pub(super) at: usize,
    /// The place behind the last descendant.
    pub(super) end: usize,
    parent: Option<usize>,
    pub(super) refs: Atomic<i32>,
    pub(super) dying: bool,
    /// How many groups there are.
    nr: usize,
    /// The id; that of the first one is not used.
    pub(super) id: u16,
    /// Where the one shared walk in order of excess that a test has at a time remembers its top.
    #[cfg(CONFIG_MEMCG_V1)]
    top: Atomic<u32>,
    #[cfg(CONFIG_MEMCG_V1)]
    excess: SoftLimitState,
    /// Whether it uses more than its soft limit.
    #[cfg(CONFIG_MEMCG_V1)]
    pub(super) exceeds: Cell<bool>,
    pub(super) stats: TestStats,
    pub(super) priority: PriorityState,
    pub(super) retain: RetainState,
}

impl TestGroup {
    /// Returns the group that is `distance` places further.
    ///
    /// # Safety
    ///
    /// There must be one.
    unsafe fn further(&self, distance: usize) -> &Self {
        // SAFETY: As the safety requirements say.
        unsafe { &*ptr::from_ref(self).add(distance) }
    }

    /// Returns all groups of the hierarchy.
    pub(super) fn all(&self) -> &[Self] {
        // SAFETY: There is a group at each place below `nr`, and the first one is `at` places back.
        unsafe { slice::from_raw_parts(ptr::from_ref(self).sub(self.at), self.nr) }
    }
}

// SAFETY: Test groups are freed by the test, after all walks.
unsafe impl AlwaysRefCounted for TestGroup {
    fn inc_ref(&self) {
        self.refs.add(1, Relaxed);
    }

    unsafe fn dec_ref(group: NonNull<Self>) {
        // SAFETY: The test keeps the groups.
        unsafe { group.as_ref() }.refs.add(-1, Relaxed);
    }
}

impl HasParent for TestGroup {
    fn parent(&self) -> Option<&Self> {
        // SAFETY: The parent stands before the group in the slice.
        self.parent
            .map(|parent| unsafe { &*ptr::from_ref(self).sub(self.at - parent) })
    }
}

impl Group for TestGroup {
    type Ref = ARef<Self>;

    fn next<'g>(
        pos: Option<&'g Self>,
        verdict: Verdict,
        root: &'g Self,
        _guard: &'g Guard,
    ) -> Option<&'g Self> {
        let Some(pos) = pos else {
            return Some(root);
        };
        let next = match verdict {
            Verdict::SkipTree => pos.end,
            _ => pos.at + 1,
        };

        // SAFETY: The group at `next` is one below `root`, so it is in the slice.
        (next < root.end).then(|| unsafe { pos.further(next - pos.at) })
    }

    fn try_get(&self) -> Option<ARef<Self>> {
        (!self.dying).then(|| self.into())
    }

    fn serial(&self) -> u64 {
        self.at as u64
    }
}

impl HasMemcgId for TestGroup {
    fn listed_id(&self) -> Option<MemcgId> {
        if self.at == 0 {
            return None;
        }
        MemcgId::from_raw(self.id.into())
    }

    fn with_id<'g>(&'g self, id: MemcgId, _guard: &'g Guard) -> Option<&'g Self> {
        self.all()
            .iter()
            .find(|group| group.listed_id() == Some(id))
    }
}

#[cfg(CONFIG_MEMCG_V1)]
impl HasSoftLimit for TestGroup {
    fn excess(&self) -> &SoftLimitState {
        &self.excess
    }

    fn exceeds(&self) -> bool {
        self.exceeds.get()
    }

    fn excess_bitmap(&self) -> &MemcgBitmap {
        &IN_EXCESS
    }

    fn excess_top(&self, _node: Node) -> &Atomic<u32> {
        &self.top
    }
}

/// A position below `root` that is not shared with anybody else's test.
pub(super) struct TestPosition<'a> {
    root: &'a TestGroup,
    pub(super) position: Atomic<*mut TestGroup>,
    generation: Atomic<i32>,
}

impl<'a> TestPosition<'a> {
    pub(super) fn new(root: &'a TestGroup) -> Self {
        Self {
            root,
            position: Atomic::new(ptr::null_mut()),
            generation: Atomic::new(0),
        }
    }
}

pub(super) fn as_ptr(group: Option<&TestGroup>) -> *mut TestGroup {
    group.map_or(ptr::null_mut(), |group| ptr::from_ref(group).cast_mut())
}

impl SharedPosition<TestGroup> for TestPosition<'_> {
    fn generation(&self) -> &Atomic<i32> {
        &self.generation
    }

    fn load<'g>(&'g self, _guard: &'g Guard) -> Option<&'g TestGroup> {
        // SAFETY: The test keeps the groups longer than the position.
        unsafe { self.position.load(Relaxed).as_ref() }
    }

    fn advance(&self, from: Option<&TestGroup>, to: Option<&Step<TestGroup>>) -> bool {
        let to = to.map(|step| step.get(self.root));

        self.position
            .cmpxchg(as_ptr(from), as_ptr(to), Full)
            .is_ok()
    }
}

/// Builds the hierarchy in which group `i` has depth `depths[i]`. Ids descend, so that their order
/// is not that of the hierarchy.
pub(super) fn build(depths: &[usize]) -> Result<KVec<TestGroup>> {
    let mut groups = KVec::with_capacity(depths.len(), GFP_KERNEL)?;

    for (at, &depth) in depths.iter().enumerate() {
        let rest = &depths[at + 1..];
        let below = rest.iter().take_while(|&&d| d > depth).count();
        let group = TestGroup {
            at,
            end: at + 1 + below,
            parent: depths[..at].iter().rposition(|&d| d < depth),
            nr: depths.len(),
            id: (depths.len() - at) as u16,
            #[cfg(CONFIG_MEMCG_V1)]
            top: Atomic::new(0),
            refs: Atomic::new(0),
            dying: false,
            #[cfg(CONFIG_MEMCG_V1)]
            excess: SoftLimitState::new(),
            #[cfg(CONFIG_MEMCG_V1)]
            exceeds: Cell::new(false),
            stats: TestStats::new(at),
            priority: PriorityState::new(),
            retain: RetainState::new(),
        };
        // Another test may have left it there.
        #[cfg(CONFIG_MEMCG_V1)]
        if let Some(id) = group.listed_id() {
            IN_EXCESS.clear(id);
        }
        groups.push(group, GFP_KERNEL)?;
    }
    Ok(groups)
}

/// Builds a hierarchy of at most `most` groups.
pub(super) fn build_random(random: &mut Random, most: u32) -> Result<KVec<TestGroup>> {
    let size = 1 + random.below(most) as usize;
    let mut depths = KVec::from_elem(0, size, GFP_KERNEL)?;

    for i in 1..size {
        depths[i] = 1 + random.below(depths[i - 1] as u32 + 1) as usize;
    }
    build(&depths)
}

/// Turns `depths` into those of the next hierarchy of the same size, and returns whether there is
/// one.
fn next_hierarchy(depths: &mut [usize]) -> bool {
    for i in (1..depths.len()).rev() {
        if depths[i] <= depths[i - 1] {
            depths[i] += 1;
            depths[i + 1..].fill(1);
            return true;
        }
    }
    false
}

/// Calls `check` with every hierarchy of at most `most` groups.
pub(super) fn every_hierarchy(
    most: usize,
    mut check: impl FnMut(KVec<TestGroup>) -> Result,
) -> Result {
    for size in 1..=most {
        let mut depths = KVec::from_elem(1, size, GFP_KERNEL)?;

        depths[0] = 0;
        loop {
            check(build(&depths)?)?;
            if !next_hierarchy(&mut depths) {
                break;
            }
        }
    }
    Ok(())
}

/// Goes on with a walk, and never sleeps.
pub(super) fn next<'a>(
    root: &TestGroup,
    prev: Option<&TestGroup>,
    cookie: Option<Cookie<'_, TestPosition<'a>>>,
    order: impl Order<TestGroup>,
    filter: impl FnMut(&TestGroup) -> Verdict,
) -> Option<Step<TestGroup>> {
    iter::next(root, prev, cookie, order, filter, || ())
}

/// Walks below `root` in `order`, and returns the places of the groups in the order of their visit.
pub(super) fn walk(
    groups: &[TestGroup],
    root: usize,
    shared: Option<&TestPosition<'_>>,
    order: impl Order<TestGroup> + Clone,
    filter: impl Fn(&TestGroup) -> Verdict,
) -> Result<KVec<usize>> {
    let mut visited = KVec::new();
    let mut generation = 0;
    let mut prev: Option<Step<TestGroup>> = None;

    loop {
        let at = prev.as_ref().map(|step| &groups[place(step, root)]);
        let cookie = shared.map(|shared| Cookie {
            shared,
            generation: &mut generation,
        });
        let Some(found) = next(&groups[root], at, cookie, order.clone(), &filter) else {
            return Ok(visited);
        };

        visited.push(place(&found, root), GFP_KERNEL)?;
        if visited.len() > groups.len() {
            return Err(ELOOP);
        }
        prev = Some(found);
    }
}

pub(super) fn place(step: &Step<TestGroup>, root: usize) -> usize {
    match step {
        Step::Root => root,
        Step::Descendant(group) => group.at,
    }
}
