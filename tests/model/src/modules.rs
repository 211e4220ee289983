// SPDX-License-Identifier: GPL-2.0

// The modules of the crate. Not a module itself, but included in the root of the model, and in that
// of each test in ui/: so they see what the modules of the crate see of each other.

#[path = "../../../rust/mm_reclaim/bits.rs"]
mod bits;
#[path = "../../../rust/mm_reclaim/cache.rs"]
mod cache;
#[path = "../../../rust/mm_reclaim/context.rs"]
mod context;
#[path = "../../../rust/mm_reclaim/excess.rs"]
mod excess;
#[path = "../../../rust/mm_reclaim/excess_walk.rs"]
mod excess_walk;
#[path = "../../../rust/mm_reclaim/id.rs"]
mod id;
#[path = "../../../rust/mm_reclaim/info.rs"]
mod info;
#[path = "../../../rust/mm_reclaim/iter.rs"]
mod iter;
#[path = "../../../rust/mm_reclaim/lifecycle.rs"]
mod lifecycle;
#[path = "../../../rust/mm_reclaim/memcg_bitmap.rs"]
mod memcg_bitmap;
#[path = "../../../rust/mm_reclaim/node.rs"]
mod node;
#[path = "../../../rust/mm_reclaim/rcu.rs"]
mod rcu;
#[path = "../../../rust/mm_reclaim/stat.rs"]
mod stat;
#[path = "../../../rust/mm_reclaim/table.rs"]
mod table;
#[path = "../../../rust/mm_reclaim/unit.rs"]
mod unit;
#[path = "../../../rust/mm_reclaim/verify.rs"]
mod verify;
#[path = "../../../rust/mm_reclaim/walk.rs"]
mod walk;

mod layout;
mod memcg;
mod shrinker;
