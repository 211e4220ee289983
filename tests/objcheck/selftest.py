# SPDX-License-Identifier: GPL-2.0
"""Shows that the checks find what is wrong: small crates, each with one fault."""

import dataclasses
import functools
import pathlib
import shlex
import tempfile

from harness import tools
from harness.common import BUILD, ROOT
from tests.objcheck import checks, kernel
from tests.objcheck.functions import Object

# As the kernel's, as far as that matters here.
FLAGS = ("--edition=2021", "--crate-type=lib", "--emit=obj", "-Cpanic=abort",
         "-Copt-level=2", "-Coverflow-checks=y", "-Ccodegen-units=1",
         "-Cforce-unwind-tables=n", "-Crelocation-model=static",
         "-Ccode-model=kernel", "-Cno-redzone=y",
         "-Csymbol-mangling-version=v0", "-Zfunction-sections=n")


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    # Two crates: ours, and another that it may call.
    ours: str
    other: str = ""
    # Which check has to fail, and what it has to say.
    fails: str = ""
    says: str = ""


CASES = (
    Case("sound code", """
        extern "C" { fn c_function(n: usize); }
        #[no_mangle] pub extern "C" fn entry(a: &[u8; 4], i: usize) -> u8 {
            unsafe { c_function(i) };
            a.get(i).copied().unwrap_or(0).wrapping_add(1)
        }"""),
    Case("an index that may be out of bounds", """
        #[no_mangle] pub extern "C" fn entry(a: &[u8; 4], i: usize) -> u8 {
            a[i]
        }""", fails="panic", says="panic_bounds_check"),
    Case("an addition in a local function", """
        #[inline(never)] fn add(n: usize) -> usize { n + 1 }
        #[no_mangle] pub extern "C" fn entry(n: usize) -> usize { add(n) ^ 5 }
        """, fails="panic", says="add_overflow"),
    Case("a panic in another crate", """
        extern "Rust" { fn other(n: Option<usize>) -> usize; }
        #[no_mangle] pub extern "C" fn entry(n: usize) -> usize {
            unsafe { other(n.checked_add(1)) ^ 5 }
        }""", """
        #[inline(never)] fn unwrap(n: Option<usize>) -> usize { n.unwrap() }
        #[no_mangle] pub fn other(n: Option<usize>) -> usize { unwrap(n) ^ 5 }
        """, fails="panic", says="other"),
    Case("a callback that panics", """
        extern "C" { fn call_later(f: extern "C" fn(usize) -> usize); }
        extern "C" fn later(n: usize) -> usize { [2, 3, 5][n] }
        #[no_mangle] pub extern "C" fn entry() { unsafe { call_later(later) } }
        """, fails="panic", says="later"),
    Case("a function in a table that panics", """
        extern "C" fn third(n: usize) -> usize { [2, 3, 5][n] }
        #[no_mangle] pub static TABLE: extern "C" fn(usize) -> usize = third;
        """, fails="panic", says="third"),
    Case("formatting where that is not allowed", """
        use core::fmt::{Display, Formatter, Result};
        #[no_mangle] pub fn entry(n: u32, f: &mut Formatter<'_>) -> Result {
            n.fmt(f)
        }""", fails="panic", says="core::fmt::Display>::fmt"),
    Case("a frame of 600 bytes", """
        extern "C" { fn fill(buffer: *mut u8); }
        #[no_mangle] pub extern "C" fn entry() -> u8 {
            let mut buffer = [0; 600];
            unsafe { fill(buffer.as_mut_ptr()) };
            buffer[7]
        }""", fails="below", says="bytes"),
    Case("a frame whose size depends on its alignment", """
        #[repr(align(64))] pub struct Aligned(u8);
        extern "C" { fn fill(buffer: *mut Aligned); }
        #[no_mangle] pub extern "C" fn entry() -> u8 {
            let mut buffer = Aligned(0);
            unsafe { fill(&mut buffer) };
            buffer.0
        }""", fails="known", says="depends"),
    Case("recursion", """
        extern "C" { fn work(n: usize) -> usize; }
        #[inline(never)] fn down(n: usize) -> usize {
            unsafe { if n == 0 { work(n) } else { work(down(n ^ work(n))) } }
        }
        #[no_mangle] pub extern "C" fn entry(n: usize) -> usize { down(n) ^ 5 }
        """, fails="recursion", says="down"),
)


@functools.cache
def rustc():
    """The one that builds the kernels."""
    text = tools.run([ROOT / "scripts/toolchain"], "the toolchain")
    return dict(word.split("=", 1) for word in shlex.split(text))["RUSTC"]


def build(objtool, folder, name, source):
    path = folder / f"{name}.o"
    # The kernel's make sets the variable, too, for the options with -Z.
    tools.run(["env", "RUSTC_BOOTSTRAP=1", rustc(), *FLAGS,
               f"--crate-name={name}", "-o", path, "-"],
              f"the self-test's {name}", "#![no_std]\n" + source)
    tools.run([objtool, "--orc", path], f"the self-test's {name}")
    return Object(path, f"{name}.o")


def wrong(case, variant, step):
    """What is wrong with the checks, or None. The unwind data are made as that kernel's."""
    objtool = kernel.objtool(BUILD / f"x86_64-{variant}")
    with tempfile.TemporaryDirectory() as folder:
        ours, other = (build(objtool, pathlib.Path(folder), name, source) for name, source in
                       (("ours", case.ours), ("other", case.other or "// none")))
        code = kernel.Code([ours], [], [other], objtool)
    step.said = "found" if case.fails else "ok"
    for name, check in checks.CHECKS.items():
        problems = list(check(code))
        expected = bool(case.fails) and case.fails in name
        if bool(problems) != expected:
            return f"'{name}' says {problems or 'nothing'}"
        if expected and not any(case.says in problem for problem in problems):
            return f"{problems} does not name {case.says}"
    return None
