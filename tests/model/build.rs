// SPDX-License-Identifier: GPL-2.0

//! The configuration of the kernel, as far as the crate asks for it.

fn main() {
    println!("cargo::rustc-cfg=CONFIG_MEMCG_V1");
    println!("cargo::rustc-cfg=CONFIG_VM_EVENT_COUNTERS");
    println!("cargo::rustc-cfg=CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST");
    println!("cargo::rerun-if-changed=build.rs");
}
