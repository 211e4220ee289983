# SPDX-License-Identifier: GPL-2.0
"""What a guest needs in which workloads/soft_limit.py runs."""

from harness import disk_image, python_guest

SWAP = 1536 << 20
# In bytes per second.
DISK_SPEED = 200_000_000


def build():
    """Returns the path of the initramfs."""
    return python_guest.build("soft_limit.py")


def disks():
    """Two where data goes that nobody reads again, and swap. The first one takes what it
    gets at once, the second one as fast as a real disk."""
    null = disk_image.NULL
    return (null, f"{null},throttling.bps-write={DISK_SPEED}", disk_image.drive("swap", SWAP))
