# SPDX-License-Identifier: GPL-2.0
"""What a guest needs in which workloads/priority.py or priority_checks.py runs."""

from harness import disk_image, python_guest

# As published.
SWAP = 4 << 30
# As a disk has: it is what two wait for that swap at the same time, and not this machine.
IOPS = 400


def build():
    """Returns the path of the initramfs."""
    return python_guest.build("priority.py")


def build_checks():
    """That of the checks."""
    return python_guest.build("priority_checks.py")


def disks():
    """Those of guest/memory.py."""
    *others, swap = checked_disks()
    return (*others, f"{swap},throttling.iops-total={IOPS}")


def checked_disks():
    """The same for the checks, which need not wait for a disk."""
    return (disk_image.NULL, disk_image.NULL, disk_image.drive("swap", SWAP))
