// SPDX-License-Identifier: GPL-2.0

//! What must not compile: each file in ui/ is one misuse, and the file beside it what rustc says.

use std::env;

/// As in build.rs, whose output is for this package only.
const CONFIG: &str = "--cfg CONFIG_MEMCG_V1 --cfg CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST";

#[test]
fn misuse_does_not_compile() {
    let flags = env::var("RUSTFLAGS").unwrap_or_default();
    // The only thread so far is this one: there is no other test here.
    env::set_var("RUSTFLAGS", format!("{flags} {CONFIG}"));

    trybuild::TestCases::new().compile_fail("ui/*.rs");
}
