// SPDX-License-Identifier: GPL-2.0

//! What debugfs shows: counters per CPU, kept in C.
//!
//! C header: [`include/linux/mm_reclaim.h`](srctree/include/linux/mm_reclaim.h)

#[cfg(CONFIG_DEBUG_FS)]
use kernel::bindings;

/// What is counted.
#[derive(Clone, Copy)]
pub(crate) enum Stat {
    /// Ids that shrinkers have.
    Ids,
    /// Memcgs that have units.
    Maps,
    /// Tables, with those that wait for a grace period to be freed.
    Tables,
    /// Bytes of all tables.
    TableBytes,
    /// Units, with those that wait for a grace period to be freed.
    Units,
    /// Units that were ever installed.
    Installs,
    /// Times that a table gave way to a larger one.
    Growths,
    /// Subtrees without memory that reclaim passed over.
    SubtreesSkipped,
    /// Passes of reclaim over those that exceed their soft limits.
    #[cfg(CONFIG_MEMCG_V1)]
    ExcessPasses,
    /// Those of them after which one over the others had to follow.
    #[cfg(CONFIG_MEMCG_V1)]
    ExcessInVain,
}

#[cfg(CONFIG_DEBUG_FS)]
impl Stat {
    fn as_raw(self) -> bindings::mm_reclaim_stat {
        match self {
            Self::Ids => bindings::mm_reclaim_stat_MM_RECLAIM_IDS,
            Self::Maps => bindings::mm_reclaim_stat_MM_RECLAIM_MAPS_OPEN,
            Self::Tables => bindings::mm_reclaim_stat_MM_RECLAIM_TABLES,
            Self::TableBytes => bindings::mm_reclaim_stat_MM_RECLAIM_TABLE_BYTES,
            Self::Units => bindings::mm_reclaim_stat_MM_RECLAIM_UNITS,
            Self::Installs => bindings::mm_reclaim_stat_MM_RECLAIM_INSTALLS,
            Self::Growths => bindings::mm_reclaim_stat_MM_RECLAIM_GROWTHS,
            Self::SubtreesSkipped => bindings::mm_reclaim_stat_MM_RECLAIM_SUBTREES_SKIPPED,
            #[cfg(CONFIG_MEMCG_V1)]
            Self::ExcessPasses => bindings::mm_reclaim_stat_MM_RECLAIM_EXCESS_PASSES,
            #[cfg(CONFIG_MEMCG_V1)]
            Self::ExcessInVain => bindings::mm_reclaim_stat_MM_RECLAIM_EXCESS_IN_VAIN,
        }
    }
}

/// Adds to a counter. Does not sleep.
#[inline]
pub(crate) fn add(stat: Stat, nr: isize) {
    #[cfg(CONFIG_DEBUG_FS)]
    // SAFETY: An FFI call with no additional requirements.
    unsafe {
        bindings::mm_reclaim_stat_add(stat.as_raw(), nr)
    };
    #[cfg(not(CONFIG_DEBUG_FS))]
    let _ = (stat, nr);
}

/// What the walk of one memcg did.
#[derive(Default)]
pub(crate) struct Walk {
    /// Shrinkers that were called for a bit.
    pub(crate) bits: usize,
    /// Those of them that turned out to be empty.
    pub(crate) spurious: usize,
}

impl Walk {
    /// Adds this walk to the counters. Does not sleep.
    #[inline]
    pub(crate) fn add(&self) {
        #[cfg(CONFIG_DEBUG_FS)]
        // SAFETY: An FFI call with no additional requirements.
        unsafe {
            bindings::mm_reclaim_stat_add_walk(self.bits, self.spurious)
        };
    }
}
