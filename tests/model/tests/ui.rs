// SPDX-License-Identifier: GPL-2.0

//! What must not compile: each file in ui/ is one misuse, and the file beside it what rustc says.

use std::env;

/// As in build.rs, whose output is for this package only.
const CONFIG: [&str; 2] = ["CONFIG_MEMCG_V1", "CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST"];

#[test]
fn misuse_does_not_compile() {
    let flags = CONFIG.map(|name| format!("--cfg\x1f{name}"));

    // trybuild takes RUSTFLAGS away. The only thread so far is this one: there is no other test.
    env::set_var("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    trybuild::TestCases::new().compile_fail("ui/*.rs");
}
