# SPDX-License-Identifier: GPL-2.0
"""Shows that the fixes of patches/stock, which are for the C implementation, are needed and
enough: the cases of their KUnit suite fail on the untouched kernel, and pass with all of them.

On UML, as it is soon built; scripts/patched_tree makes the source.
"""

import os
import subprocess

from harness import common, kunit_suites, splats, tools
from harness.common import BUILD, ROOT, expect, shown

KERNEL, ARCH = "stock-kunit", "um"
FOLDER = BUILD / f"{ARCH}-{KERNEL}"
# What the kernel says on its console.
TEST_LOG = FOLDER / "test.log"
SUITE = "shrinker"
# How their names begin.
TESTS, ALL = "0002", ""
BOOT_TIMEOUT = 300
# Of a case that failed, and not of what it needs.
FAULT = "EXPECTATION FAILED"
# As scripts/kunit has them.
ARGUMENTS = ("kunit.autorun=1", "ncpus=2", "seccomp=on")


def cases(_options):
    """Those of patches/stock that the kernel has, and how its cases must end."""
    return {"without the fixes": (TESTS, "failed"), "with them": (ALL, "passed")}


def build(patches, log):
    tools.logged([ROOT / "scripts/kernel", KERNEL, ARCH], f"{KERNEL} with \"{patches}\"", log,
                 env={**os.environ, "STOCK_PATCHES": patches})


def boot(log):
    """What the kernel says. The status is not that of the cases alone."""
    TEST_LOG.unlink(missing_ok=True)
    with open(common.LOGS / log, "a", encoding="utf-8") as file:
        tools.status(["tools/testing/kunit/kunit.py", "exec", "--build_dir", FOLDER, "--arch",
                      ARCH, "--timeout", str(BOOT_TIMEOUT),
                      *(word for text in ARGUMENTS for word in ("--kernel_args", text)), SUITE],
                     cwd=BUILD / "linux", stdout=file, stderr=subprocess.STDOUT)
    expect(TEST_LOG.exists(), f"the kernel did not start, see {shown(common.LOGS / log)}")
    return TEST_LOG.read_text(encoding="utf-8", errors="replace")


def test_stock(case, step):
    patches, wanted = case
    step.log = f"stock-{wanted}"
    build(patches, f"{step.log}.log")
    console = boot(f"{step.log}.log")
    found = {case.name: kind for suite, case, kind in kunit_suites.cases(console)
             if suite.name == SUITE}
    step.text = step.said = ", ".join(f"{name} {kind}" for name, kind in found.items())
    expect(found, f"the suite {SUITE} did not run")
    expect(not splats.first(console), f"kernel: {splats.first(console)}")
    expect(set(found.values()) == {wanted}, f"expected is that all {wanted}: {step.said}")
    expect(console.count(FAULT) == (len(found) if wanted == "failed" else 0),
           f"other faults than those that are expected: {step.said}")
