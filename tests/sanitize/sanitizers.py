# SPDX-License-Identifier: GPL-2.0
"""What in a kernel looks for faults of its own, and whether it really does."""

import dataclasses
import re

from harness import kernels, tools
from harness.common import BUILD, LOGS, BenchError, shown

TREE = BUILD / "linux"
# Beside the C files of the series: the crate, and what it calls.
RUST = ("rust/mm_reclaim/mm_reclaim.o", "rust/kernel.o", "rust/helpers/helpers.o")


@dataclasses.dataclass(frozen=True)
class Sanitizer:
    """What a kernel prints if it looks for faults."""
    alive: tuple = ()
    instrumented: str = ""  # what its objects refer to
    args: str = ""  # of the kernel's command line


# By the names in harness/kernels.toml.
SANITIZERS = {
    "KASAN": Sanitizer((r"KernelAddressSanitizer initialized \(generic\)",)),
    "lockdep": Sanitizer((r"Lock dependency validator",
                          r"RCU lockdep checking is enabled")),
    # Which is what it does if SLUB checks all caches.
    "SLUB": Sanitizer((r"unhashed kernel memory addresses",), args="slab_debug=FZP"),
    # It says nothing until it is asked.
    "kmemleak": Sanitizer(),
    "KCSAN": Sanitizer((r"kcsan: enabled early", r"kcsan: strict mode configured",
                        r"kcsan: selftest: (\d+)/\1 tests passed"), "__tsan_"),
}
# Those that look for something, and that the torture test can run on.
LOOKING = [name for name in kernels.used_by("torture") if kernels.KERNELS[name].looks]


def of(kernel):
    return [SANITIZERS[name] for name in kernel.looks]


def arm(name):
    kernel = kernels.KERNELS[name]
    return kernels.alone(name, " ".join(filter(None, (each.args for each in of(kernel)))),
                         kernel.about)


def is_instrumented(kernel):
    return any(each.instrumented for each in of(kernel))


def touched():
    """The objects of the C files of the series."""
    listed = tools.run(
        ["git", "-C", TREE, "diff", "--name-only", "pristine", "overlay",
         # zswap and XFS are not in these kernels; what file systems ask for is a bit, which is
         # set atomically; and mm/vmstat.c gets names alone.
         "--", "mm/*.c", "fs/*.c", "kernel/*.c", ":!mm/zswap.c", ":!mm/vmstat.c",
         ":!fs/ext4/*", ":!fs/xfs/*"],
        shown(TREE))
    return [name[:-2] + ".o" for name in listed.split()]


def watched(kernel):
    """The objects that must be instrumented: those of the series, and the Rust code where
    that is built."""
    if kernel.language == "C":
        return [name for name in touched() if (kernel.folder / name).is_file()]
    return [*touched(), *RUST]


def check_instrumented(kernel):
    """A file that nobody added to the list of the watched would go unnoticed."""
    for mark in (each.instrumented.encode() for each in of(kernel)
                 if each.instrumented):
        bare = []
        for name in watched(kernel):
            path = kernel.folder / name
            if not path.is_file():
                raise BenchError(f"{shown(path)} is missing: run 'make kernel "
                                 f"VARIANT={kernel.name}'")
            # Symbols that it refers to are in its table of strings.
            if mark not in path.read_bytes():
                bare.append(name)
        if bare:
            raise BenchError(f"{', '.join(bare)} of {shown(kernel.folder)} is not "
                             "instrumented: see KCSAN_WATCHED in "
                             "tests/sanitize/kcsan.patch")


def check_alive(kernel, name):
    """A sanitizer that is off finds nothing, which must not look like success."""
    log = LOGS / f"{name}.log"
    console = log.read_text(errors="replace")
    for pattern in (pattern for each in of(kernel) for pattern in each.alive):
        if not re.search(pattern, console):
            raise BenchError(f"the kernel {kernel.name} did not print "
                             f"\"{pattern}\", so it may have looked for nothing; "
                             f"see {shown(log)}")
