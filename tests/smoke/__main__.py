# SPDX-License-Identifier: GPL-2.0
"""Boots one kernel and runs a small workload in it: does it work at all?"""

import argparse

from harness import arms, initramfs, qemu
from harness.common import LOGS, main, shown
from harness.kernels import ARMS
from harness.progress import Progress
from harness.stats import METRICS


def smoke():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arm", choices=ARMS, default="rust")
    parser.add_argument("--n", type=int, default=50)
    parser.add_argument("--memory", type=int, default=1024, metavar="MIB")
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--accel", choices=("kvm", "tcg"), default="tcg")
    parser.add_argument("--kernel-arg", action="append", default=[],
                        metavar="ARG", help="may be given more than once")
    parser.add_argument("--v1", action="store_true",
                        help="use the cgroup v1 memory hierarchy")
    parser.add_argument("--any", action="store_true",
                        help="go on if there is no memory controller")
    parser.add_argument("--from-home", action="store_true",
                        help="join each group from the first one")
    parser.add_argument("--shrinker-debug", action="store_true",
                        help="use the shrinkers' debugfs files")
    options = parser.parse_args()

    qemu.check()
    arm = ARMS[options.arm]
    arms.check_images([arm])
    workload = [f"--{name.replace('_', '-')}"
                for name in ("v1", "any", "from_home", "shrinker_debug")
                if getattr(options, name)]
    progress = Progress("smoke", [f"{arm.name}, N = {options.n}"])
    initrd = initramfs.build_initramfs()
    progress.next(f"{arm.name}, N = {options.n}")
    result = arms.boot(
        arm, qemu.Machine(options.accel, options.memory, options.cpus), initrd,
        options.n, f"smoke-{arm.name}", workload, options.kernel_arg)
    progress.done(f"ok, {result['guest_seconds']:.1f} s, cgroup "
                  f"{result['cgroup']}, idle drop_caches "
                  f"{METRICS['idle2'][2](result):.3f} ms")
    print(f"console: {shown(LOGS / f'smoke-{arm.name}.log')}")
    return 0


if __name__ == "__main__":
    main(smoke)
