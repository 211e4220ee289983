# SPDX-License-Identifier: GPL-2.0
"""What a guest needs in which workloads/priority_checks.py runs."""

from harness import disk_image, python_guest

SWAP = 4 << 30


def build():
    """Returns the path of the initramfs."""
    return python_guest.build("priority_checks.py")


def disks():
    """Those of guest/memory.py."""
    return (disk_image.NULL, disk_image.NULL, disk_image.drive("swap", SWAP))
