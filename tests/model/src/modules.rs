// SPDX-License-Identifier: GPL-2.0

// The modules of the crate. Not a module itself, but included in the root of the model, and in that
// of each test in ui/: so they see what the modules of the crate see of each other.

#[path = "../../../rust/mm_reclaim"]
mod mm_reclaim {
    pub(crate) mod bits;
    pub(crate) mod deferred;
    pub(crate) mod dying;
    pub(crate) mod id_table;
    pub(crate) mod iter;
    pub(crate) mod lifecycle;
    pub(crate) mod map;
    pub(crate) mod memcg_bitmap;
    pub(crate) mod reclaimable;
    pub(crate) mod shrinker_id;
    pub(crate) mod soft_limit;
    pub(crate) mod sys;
    pub(crate) mod table;
    pub(crate) mod unit;
    pub(crate) mod verify;
    pub(crate) mod walk;
}

use mm_reclaim::*;

mod layout;
mod memcg;
mod shrinker;
