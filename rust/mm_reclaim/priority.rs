// SPDX-License-Identifier: GPL-2.0

//! Priorities: which groups reclaim spares, and until when, if the whole machine is short of
//! memory.
//!
//! A group with a value is passed over as long as the priority of global reclaim, which goes down
//! while too little is found, is above it; from then on the group is scanned as if reclaim had
//! just begun. That rule is the one of "mm: vmscan: memcg: Add global shrink priority" (2019),
//! which had no hierarchy. Here, each group on the path from the root that has a value bounds
//! those below it, and one without a value does not: so a value helps below groups that nobody
//! configured, and a container gets no more than whoever is above it grants.
//!
//! A value may count only while its group is active, that is, while it faults: so that memory
//! which is merely held is not spared.
//!
//! What a group does not give when its turn has not come, those that nobody spares give: as much
//! again as their own part, in the same pass as far as they come after it, or else in the next.

use kernel::{
    bindings,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

use crate::{
    iter::{
        self,
        path,
        Group, //
    },
    layout::{
        mirrors,
        Mirrors, //
    },
    sys::cond_resched, //
};

/// The priority with which reclaim begins, at which nobody is spared.
const DEF_PRIORITY: i32 = bindings::DEF_PRIORITY as i32;

/// Down to which priority of reclaim a group is passed over: 0, the best, to [`DEF_PRIORITY`].
///
/// # Invariants
///
/// The number is one of these.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Priority(i32);

impl Priority {
    /// That of a group that is not spared.
    pub(crate) const DEFAULT: Self = Self(DEF_PRIORITY);

    /// Creates a priority from its number, if that is one.
    pub(crate) fn new(number: i32) -> Option<Self> {
        // INVARIANT: It was checked.
        (0..=DEF_PRIORITY).contains(&number).then_some(Self(number))
    }

    /// Returns the number.
    pub(crate) fn get(self) -> i32 {
        self.0
    }
}

/// What reclaim does when it gets to a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// Pass over it.
    Pass,
    /// Scan it with this priority.
    Scan(i32),
}

/// Returns what global reclaim with a priority of `reclaim` does with a group.
///
/// One that is spared is passed over first, and scanned with the priorities that others had before
/// it when its turn comes.
pub(crate) fn turn(reclaim: i32, group: Priority) -> Turn {
    if group.0 < reclaim {
        Turn::Pass
    } else {
        Turn::Scan(reclaim.wrapping_add(DEF_PRIORITY.wrapping_sub(group.0)))
    }
}

/// Returns how many of so many pages are scanned with a priority.
fn part(size: usize, priority: i32) -> usize {
    size.checked_shr(priority.unsigned_abs()).unwrap_or(0)
}

/// Returns the [`turn`] of a group with so many pages in a walk that owes `owed` pages, those that
/// were not scanned in groups which came before it; and what the walk owes afterwards.
///
/// Nobody is scanned harder than with the priority that comes next, so that no group pays alone
/// for its neighbour; nor with 0, with which reclaim no longer looks at what is used.
pub(crate) fn settle(reclaim: i32, group: Priority, size: usize, owed: usize) -> (Turn, usize) {
    let turn = turn(reclaim, group);
    let due = part(size, reclaim);

    match turn {
        Turn::Pass => (turn, owed.saturating_add(due)),
        Turn::Scan(priority) if priority != reclaim => (
            turn,
            owed.saturating_add(due.saturating_sub(part(size, priority))),
        ),
        Turn::Scan(_) => {
            let next = reclaim.wrapping_sub(1);
            let more = part(size, next.max(0)).saturating_sub(due);

            if next > 0 && (1..=owed).contains(&more) {
                (Turn::Scan(next), owed - more)
            } else {
                (turn, owed)
            }
        }
    }
}

/// A priority that a group is given, by itself or by those above it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Value {
    pub(crate) priority: Priority,
    /// Whether it counts only while groups are active.
    pub(crate) while_active: bool,
}

impl Value {
    /// Returns what counts for a group with this value below one with the other.
    fn below(self, above: Self) -> Self {
        Self {
            priority: self.priority.max(above.priority),
            while_active: self.while_active || above.while_active,
        }
    }
}

/// A [`Value`], or none, which is 0: the number plus one, and a flag.
#[repr(transparent)]
struct AtomicValue(Atomic<i32>);

impl AtomicValue {
    const WHILE_ACTIVE: i32 = 0x100;

    #[cfg(CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST)]
    const fn new() -> Self {
        Self(Atomic::new(0))
    }

    fn load(&self) -> Option<Value> {
        let word = self.0.load(Relaxed);

        Some(Value {
            priority: Priority::new((word & !Self::WHILE_ACTIVE).wrapping_sub(1))?,
            while_active: word & Self::WHILE_ACTIVE != 0,
        })
    }

    fn store(&self, value: Option<Value>) {
        let word = value.map_or(0, |value| {
            let flag = if value.while_active {
                Self::WHILE_ACTIVE
            } else {
                0
            };

            value.priority.0.wrapping_add(1) | flag
        });

        self.0.store(word, Relaxed);
    }
}

impl Mirrors<i32> for AtomicValue {}

/// What is known of the priority of one group. Valid when it is zeroed.
///
/// Part of `struct mem_cgroup`, as `struct memcg_priority`.
#[repr(C)]
pub(crate) struct PriorityState {
    /// The group's own value.
    own: AtomicValue,
    /// What comes of that and of the values above it.
    granted: AtomicValue,
    /// When the group, or one below it, last faulted, in jiffies; as long as any value needs it.
    active_at: Atomic<usize>,
}

mirrors!(PriorityState is bindings::memcg_priority {
    own: own,
    granted: granted,
    active_at: active_at,
});

impl PriorityState {
    /// Creates the state of a group without a value, as it is in zeroed memory.
    #[cfg(CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST)]
    pub(crate) const fn new() -> Self {
        Self {
            own: AtomicValue::new(),
            granted: AtomicValue::new(),
            active_at: Atomic::new(0),
        }
    }

    /// Returns the group's own value.
    pub(crate) fn value(&self) -> Option<Value> {
        self.own.load()
    }
}

/// A group that can have a priority.
pub(crate) trait HasPriority: Group {
    /// Returns what is known of its priority.
    fn priority(&self) -> &PriorityState;

    /// Returns the time in jiffies.
    fn now() -> usize;

    /// Returns for how many jiffies a group is active after a fault.
    fn window() -> usize;
}

/// Gives a group a value, or takes it away, and brings up to date what those below it get.
///
/// Calls must not run at the same time in one hierarchy. May sleep.
pub(crate) fn set<G: HasPriority>(group: &G, value: Option<Value>) {
    // Until now, faults may not have been noted: it is not known to be idle.
    if value.is_some_and(|value| value.while_active) {
        note_fault(group);
    }
    group.priority().own.store(value);
    update(group);
}

/// Brings up to date what a group and those below it get from the values on their paths.
///
/// Must be called, as [`set`] is, when a group becomes visible to others.
pub(crate) fn update<G: HasPriority>(group: &G) {
    // Parents come before their children, and what a child that appears later gets is not missed.
    iter::for_each(group, update_one, cond_resched);
}

fn update_one<G: HasPriority>(group: &G) {
    let state = group.priority();
    let above = group
        .parent()
        .and_then(|parent| parent.priority().granted.load());

    let granted = match (state.value(), above) {
        (Some(own), Some(above)) => Some(own.below(above)),
        (own, above) => own.or(above),
    };
    state.granted.store(granted);
}

/// Returns the priority that counts for a group right now.
///
/// A value that needs activity neither asks for anything in an idle group nor grants it. As
/// groups are as active as those below them, only idle ones come to that.
pub(crate) fn effective<G: HasPriority>(group: &G) -> Priority {
    let Some(granted) = group.priority().granted.load() else {
        return Priority::DEFAULT;
    };
    let is_idle = |group: &G| {
        let value = group.priority().value();

        value.is_some_and(|value| value.while_active) && !is_active(group)
    };

    if granted.while_active && path(group).any(is_idle) {
        Priority::DEFAULT
    } else {
        granted.priority
    }
}

/// Returns whether a group, or one below it, faulted within the window.
fn is_active<G: HasPriority>(group: &G) -> bool {
    let at = group.priority().active_at.load(Relaxed);

    G::now().wrapping_sub(at) <= G::window()
}

/// Notes that a group faults, and with it those above.
pub(crate) fn note_fault<G: HasPriority>(group: &G) {
    let now = G::now();

    // Once in a jiffy, so that those above are not written to by all CPUs.
    for group in path(group).take_while(|group| group.priority().active_at.load(Relaxed) != now) {
        group.priority().active_at.store(now, Relaxed);
    }
}
