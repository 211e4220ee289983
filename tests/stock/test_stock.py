# SPDX-License-Identifier: GPL-2.0
"""Shows that the fixes of patches/stock, which are for the C implementation, are needed and
enough: their KUnit suite fails on the untouched kernel, and passes with all of them.

On UML, as it is soon built; scripts/stock_tree makes the source.
"""

import os
import subprocess

from harness import common, kunit_suites, splats, tools
from harness.common import BUILD, ROOT, expect

KERNEL, ARCH = "stock-kunit", "um"
SUITE = "shrinker"
# By the numbers of patches.
TESTS, ALL = "0002", ""
BOOT_TIMEOUT = 300


def cases(_options):
    """Those of patches/stock that the kernel has, and whether its suite passes."""
    return {"without the fixes": (TESTS, "failed"), "with them": (ALL, "passed")}


def script(name, log, *words, **variables):
    """Whether one of scripts/ succeeded; its output goes to the log."""
    with open(log, "w", encoding="utf-8") as file:
        return not tools.status([ROOT / "scripts" / name, *words],
                                env={**os.environ, **variables}, stdout=file,
                                stderr=subprocess.STDOUT)


def test_stock(case, step):
    patches, wanted = case
    step.log = f"stock-{wanted}"
    log = common.LOGS / f"{step.log}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    expect(script("kernel", log, KERNEL, ARCH, STOCK_PATCHES=patches),
           "the kernel was not built")
    # It asks for the suites of the series: what came of the cases is judged here.
    script("kunit", log, ARCH, VARIANT=KERNEL, FILTER=SUITE, BUILT="1",
           TIMEOUT=str(BOOT_TIMEOUT), RESULTS=str(common.LOGS / "stock-results"))
    console = (BUILD / f"{ARCH}-{KERNEL}" / "test.log").read_text(encoding="utf-8",
                                                                  errors="replace")
    found = {case.name: kind for suite, case, kind in kunit_suites.cases(console)
             if suite.name == SUITE}
    expect(found, f"the suite {SUITE} did not run")
    expect(not splats.first(console), f"kernel: {splats.first(console)}")
    expect(set(found.values()) == {wanted}, f"expected that they {wanted}: {found}")
    step.text = step.said = ", ".join(f"{name} {kind}" for name, kind in found.items())
