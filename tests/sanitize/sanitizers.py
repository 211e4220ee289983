# SPDX-License-Identifier: GPL-2.0
"""The kernels that look for faults of their own, and whether they really do."""

import dataclasses
import re

from harness import arms, tools
from harness.common import BUILD, LOGS, BenchError, shown

TREE = BUILD / "linux"
# Beside the C files of the series: the crate, and what it calls.
RUST = ("rust/mm_reclaim/mm_reclaim.o", "rust/kernel.o", "rust/helpers/helpers.o")


@dataclasses.dataclass(frozen=True)
class Sanitizer:
    """A kernel, and what it prints if it looks for faults."""
    variant: str
    about: str
    alive: tuple
    instrumented: str = ""  # what its objects refer to
    leaks: bool = False  # whether kmemleak can look for lost memory
    args: str = ""  # of the kernel's command line

    @property
    def arm(self):
        return arms.Arm(self.variant, self.variant, self.args, self.about)

    @property
    def folder(self):
        return BUILD / f"x86_64-{self.variant}"


KCSAN_ALIVE = (r"kcsan: enabled early", r"kcsan: strict mode configured",
               r"kcsan: selftest: (\d+)/\1 tests passed")
SANITIZERS = {each.variant: each for each in (
    Sanitizer("debug", "KASAN, lockdep, RCU, SLUB, debug objects, kmemleak",
              (r"KernelAddressSanitizer initialized \(generic\)",
               r"Lock dependency validator", r"RCU lockdep checking is enabled",
               # Which is what it does if SLUB checks all caches.
               r"unhashed kernel memory addresses"),
              leaks=True, args="slab_debug=FZP"),
    Sanitizer("kcsan-suites", "KCSAN, strict, with Rust", KCSAN_ALIVE, "__tsan_"),
    Sanitizer("kcsan-stock", "KCSAN, strict, with the C implementation",
              KCSAN_ALIVE, "__tsan_"),
)}


def watched(sanitizer):
    """The objects that must be instrumented: each C file of the series, and the
    Rust code where that is built."""
    listed = tools.run(
        ["git", "-C", TREE, "diff", "--name-only", "pristine", "overlay",
         # zswap is not in these kernels.
         "--", "mm/*.c", "fs/*.c", "kernel/*.c", ":!mm/zswap.c"], shown(TREE))
    names = [name[:-2] + ".o" for name in listed.split()]
    if sanitizer.arm.implementation == "c":
        return [name for name in names if (sanitizer.folder / name).is_file()]
    return [*names, *RUST]


def check_instrumented(sanitizer):
    """A file that nobody added to the list of the watched would go unnoticed."""
    if not sanitizer.instrumented:
        return
    mark = sanitizer.instrumented.encode()
    bare = []
    for name in watched(sanitizer):
        path = sanitizer.folder / name
        if not path.is_file():
            raise BenchError(f"{shown(path)} is missing: run 'make kernel "
                             f"VARIANT={sanitizer.variant}'")
        # Symbols that it refers to are in its table of strings.
        if mark not in path.read_bytes():
            bare.append(name)
    if bare:
        raise BenchError(f"{', '.join(bare)} of {shown(sanitizer.folder)} is not "
                         "instrumented: see KCSAN_WATCHED in "
                         "tests/sanitize/kcsan.patch")


def check_alive(sanitizer, name):
    """A sanitizer that is off finds nothing, which must not look like success."""
    log = LOGS / f"{name}.log"
    console = log.read_text(errors="replace")
    for pattern in sanitizer.alive:
        if not re.search(pattern, console):
            raise BenchError(f"the kernel {sanitizer.variant} did not print "
                             f"\"{pattern}\", so it may have looked for nothing; "
                             f"see {shown(log)}")
