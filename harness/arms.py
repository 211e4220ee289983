# SPDX-License-Identifier: GPL-2.0
"""One run of a workload in a guest of an arm, and what may be wrong with it."""

import contextlib
import dataclasses
import json
import os
import re

from harness import qemu, races, splats, stale_code
from harness.common import LOGS, OUT, BenchError, shown, tail
from harness.kernels import OWN_OPTION

RESULT = "# MM_RECLAIM_JSON "
# What the kernel prints while a guest is printing.
MESSAGE = re.compile(r"\[ *\d+\.\d+\] [^\n]*\n")
EXIT = "MM_RECLAIM_EXIT "


def check_images(arms):
    for arm in arms:
        if not arm.kernel.image.is_file():
            raise BenchError(f"{shown(arm.kernel.image)} is missing: run 'make kernel "
                             f"VARIANT={arm.kernel.name} ARCH=x86_64'")


def options(kernel, own_option):
    """The kernel's configuration, as a dictionary without its own options.

    Those that are not set may be left out: they are, where nothing offers them.
    """
    found = {}
    try:
        text = kernel.config.read_text()
    except OSError as error:
        raise BenchError(f"cannot read {shown(kernel.config)}: {error.strerror}"
                         ) from None
    for line in text.splitlines():
        match = re.match(r"(CONFIG_\w+)=(.*)", line)
        if match and not re.match(own_option, match[1]):
            found[match[1]] = match[2]
    return found


def check_configs(arms):
    """A comparison of kernels that differ elsewhere would be none."""
    first, *others = sorted((arm.kernel for arm in arms),
                            key=lambda kernel: kernel.own_option != OWN_OPTION)
    for kernel in others:
        one, other = (options(each, kernel.own_option) for each in (first, kernel))
        differ = sorted(name for name in one.keys() | other.keys()
                        if one.get(name) != other.get(name))
        if differ:
            raise BenchError(
                f"the kernels {first.name} and {kernel.name} differ in "
                f"{', '.join(differ[:8])}: build both from the same "
                "configuration")


SKIPPED = re.compile(r"^ok \d+ # SKIP (.*)", re.MULTILINE)
# What the workload may leave out on any kernel, and why.
SKIPS = {"cgroup v1 does not tell which groups linger": "it has no cgroup.stat"}
# And where there are no maps of ours to be looked at.
SKIPS_WITHOUT_MAPS = {
    "this kernel does not count what maps take": "it is C, or has no groups",
    "there are no debugfs files of maps": "it is C, or has no groups"}


class GuestFailed(BenchError):
    """A guest did not do what it was started for."""

    def __init__(self, why, log, console):
        # With the stacks of one that hangs, if it was asked for them.
        before, asked = splats.asked(console)
        super().__init__("\n".join((f"{why}, see {shown(log)}", tail(splats.behind(before)),
                                    *([tail(splats.stacks(asked), splats.STACKS)]
                                      if asked else ()))))
        self.why = why


def log_name(*parts):
    """Of what is in a guest."""
    return "".join(c if c.isalnum() else "-" for c in "-".join(parts))


def parse(console):
    """The result line, or None, also if it is cut off, or has something else in it than a line
    of the kernel's."""
    _, _, said = console.partition(RESULT)
    for text in (said, MESSAGE.sub("", said)):
        with contextlib.suppress(ValueError):
            return json.loads(text.partition("\n")[0])
    return None


def complaint(ended):
    """The first that the kernel says of what went wrong, or None."""
    return splats.first(races.without_known(ended.console, ended.kernel))


def trouble(ended):
    """What went wrong with the kernel, or None."""
    # That one panicked when it was asked is what it was asked for.
    before, asked = splats.asked(ended.console) if ended.timed_out else (ended.console, "")
    splat = complaint(dataclasses.replace(ended, console=before))
    if splat:
        return f"the guest's kernel says \"{splat}\""
    if not ended.timed_out:
        return None
    places = splats.places(asked)
    return f"the guest did not end within {ended.seconds:.0f} s" + (places and f": {places}")


def problem(ended, skips=()):
    """What went wrong in a guest, or None. `skips` are what it may leave out."""
    wrong = trouble(ended)
    if wrong:
        return wrong
    said = re.search(f"^{EXIT}(.*)", ended.console, re.MULTILINE)
    if not said:
        return f"the guest ended (status {ended.status}) without a result"
    if said[1] != "code 0":
        return f"the workload ended with {said[1]}"
    if re.search(r"^not ok ", ended.console, re.MULTILINE):
        return "a check of the workload failed"
    for why in SKIPPED.findall(ended.console):
        if why not in skips:
            return f"a check of the workload was skipped: {why}"
    # A parameter that the kernel does not know silently does nothing.
    unknown = re.search(r"Unknown kernel command line parameters.*",
                        ended.console)
    if unknown and re.search(r"mm_reclaim|memcg_soft_limit", unknown[0]):
        return f"the kernel says \"{unknown[0]}\""
    return None


def start(arm, machine, initrd, log, arguments, timeout):
    """Runs one guest to its end. Returns how it ended, and the times that it had
    to be started again, each of which is shown as it happens.

    oops=panic, because what is left after an Oops may only end by a time-out;
    slab_nomerge, because a cache of ours that shared the slabs of another one
    would not be seen in /proc/slabinfo; no_timer_check, because a busy host may
    not emulate the timer's ticks while the kernel looks for them; tsc=reliable, because
    it may also let one of two clocks go late, and then every reading of the time would
    go to a device that is emulated, in this guest alone; and a CPU stalls RCU after 100 s,
    not 21: a busy host may not run it for so long, or keep it waiting for its own disk. One
    that hangs is found all the same.
    """
    append = " ".join(filter(None, (
        "console=ttyS0 panic=-1 oops=panic slab_nomerge no_timer_check tsc=reliable "
        "rcupdate.rcu_cpu_stall_timeout=100", arm.args, *arguments)))
    for retries in range(stale_code.RETRIES + 1):
        ended = qemu.run(machine, arm.kernel, initrd, append, timeout, log)
        if retries == stale_code.RETRIES or \
           not stale_code.was_run(machine, ended, complaint(ended)):
            break
        kept = log.rename(log.with_suffix(f".stale{retries + 1}.log"))
        print(f" (QEMU {'.'.join(map(str, qemu.release()))} ran stale code, see "
              f"{shown(kept)}: started again)", end="", flush=True)
    return ended, retries


def boot(arm, machine, initrd, n, name, workload=(), kernel_args=(),
         timeout=None, has_maps=True):
    """Runs the workload in one guest and returns its result. `has_maps` is whether
    a kernel of ours has anything to show of them."""
    log = LOGS / f"{name}.log"
    if timeout is None:
        timeout = 180 + n // 5
    ended, retries = start(arm, machine, initrd, log,
                           (*kernel_args, "--", f"-n {n} --json", *workload),
                           timeout)
    without_maps = arm.kernel.implementation == "c" or not has_maps
    why = problem(ended, {**SKIPS, **(SKIPS_WITHOUT_MAPS if without_maps else {})})
    result = None if why else parse(ended.console)
    if not why and (not result or result["n"] != n):
        why = "the guest printed no result, or one that cannot be parsed"
    # A build directory may still have the kernel that it was copied from.
    elif not why and result["implementation"] != arm.kernel.implementation:
        why = (f"{shown(arm.kernel.image)} has the {result['implementation']} implementation: "
               f"run 'make kernel VARIANT={arm.kernel.name} ARCH=x86_64'")
    if why:
        raise GuestFailed(why, log, ended.console)
    return {**result, "arm": arm.name, "retries": retries,
            "guest_seconds": round(ended.seconds, 3), "console": os.path.relpath(log, OUT)}


def probe(arm, initrd, accel):
    """Whether a guest boots under this accelerator."""
    machine = qemu.Machine(accel, 512, 2)
    try:
        boot(arm, machine, initrd, 1, f"probe-{accel}", timeout=20)
    except GuestFailed:
        return False
    return True
