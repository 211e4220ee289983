# SPDX-License-Identifier: GPL-2.0
"""Removes memory cgroups while something holds them, in each way that is known, on a stock
kernel and on one of ours, and checks that memcg_zombies.py names who does: on the running
kernel, in the guest, and in a dump of it, here. Then it takes each of the tool's finders
away, and what that one finds must be missed."""

import itertools
import json
import subprocess

import pytest

from harness import kernels, session, tools
from harness.common import OUT, QUICK, ROOT, shown, tail
from harness.python_guest import PYTHON
from tests.zombies import checks, guests, parts

# Of each recipe.
FEW, MANY = 4, 20
GROUPS = FEW if QUICK else MANY
TOOL = ROOT / "tools/cgroup/memcg_zombies.py"
NO_DEBUG_INFO, NO_PERMISSION, NO_MEMCG = 3, 4, 5
VERSIONS = ("v2", "v1", "disabled")


def read_dump(arm, core):
    return json.loads(tools.run(
        [PYTHON, "-m", "tests.zombies.blinded", core, arm.kernel.vmlinux],
        f"the dump {shown(core)}", cwd=ROOT))


def wrong_debug_info(core, kernel):
    """The dump, with an ELF file that has none, and with another kernel's."""
    others = [other for other in map(kernels.KERNELS.get, kernels.used_by("zombies"))
              if other is not kernel and other.vmlinux.is_file()]
    for vmlinux in (PYTHON, *(other.vmlinux for other in others)):
        done = subprocess.run([PYTHON, TOOL, "--core", core, "--vmlinux", vmlinux],
                              capture_output=True, text=True, check=False)
        if done.returncode != NO_DEBUG_INFO or "Traceback" in done.stderr:
            return f"with {vmlinux} it ends with {done.returncode}: {tail(done.stderr)}"
    return None


def ended_otherwise(said, wanted, word):
    """What the guest says of the tool, where it must not work."""
    status, _, errors = said
    if status != wanted or word not in errors:
        return f"it ends with {status}: {errors}"
    return None


def of_one(expected, found, read_at):
    """What is checked of a running kernel and of a dump alike."""
    yield "names who holds each", checks.names(expected, found)
    yield "lists nothing else", checks.lists_nothing_else(expected, found)
    yield "finds as many as the kernel counts", checks.counts(found)
    yield "ages", checks.ages(expected, found, read_at)
    yield "no notes", "; ".join(found["notes"])


def of_running(result):
    """(name, what is wrong or nothing) of each check."""
    expected, found = result["expected"], result["found"]
    yield from of_one(expected, found, result["read_at"])
    yield "metrics", checks.metrics(result["metrics"], len(expected))
    yield "names them while others come and go", checks.names(expected, result["busy"])
    yield "without permission", ended_otherwise(result["without_permission"], NO_PERMISSION,
                                                "permission")
    if result["percpu"]:
        yield "bytes as charged to the parent", checks.per_cpu_bytes(result, found)


def of_dump(arm, result, core):
    dump = read_dump(arm, core)
    whole, expected = dump["whole"], result["expected"]
    yield from of_one(expected, whole, result["dumped_at"])
    yield "parts as documented", parts.as_documented(whole)
    yield "metrics of each group", checks.metrics(dump["metrics"], len(expected))
    yield "with wrong debug information", wrong_debug_info(core, arm.kernel)
    yield "without each finder", checks.blinded(expected, whole, dump["without"])


def judge(arm, version):
    """Boots a guest, and all that is checked of it."""
    if version == "disabled":
        yield "it says so", ended_otherwise(guests.run(arm, GROUPS, version)["disabled"],
                                            NO_MEMCG, "disabled")
        return
    core = OUT / "zombies.core"
    result = guests.run(arm, GROUPS, version, core)
    for name, wrong in of_running(result):
        yield f"running: {name}", wrong
    for name, wrong in of_dump(arm, result, core):
        yield f"dump: {name}", wrong
    core.unlink()


def add_options(parser):
    parser.epilog = f"QUICK=1 makes {FEW} groups of each kind."


def cases(_options):
    return {" ".join(each): each
            for each in itertools.product(kernels.used_by("zombies"), VERSIONS)}


@pytest.fixture(scope="module", autouse=True)
def guard():
    with session.only_one():
        yield


def test_guest(case, step):
    name, version = case
    arm = kernels.alone(name)
    step.uses(arm)
    step.log = guests.log_name(arm, version)
    for check, why in judge(arm, version):
        step.check(f"{name} {version}, {check}", why)
