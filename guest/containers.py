# SPDX-License-Identifier: GPL-2.0
"""Containers as an engine makes them: a cgroup, namespaces, and a super block for each file
system that a container has of its own. Nothing runs in them."""

import collections
import contextlib
import os

from guest import init
from guest.groups import Group, Process
from guest.init import LIBC

CLONE_NEWNS, CLONE_NEWIPC = 0x20000, 0x8000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
# What they are for who reclaims, and what others read into beside them.
STATES = NONE, IDLE, BUSY = "none", "idle", "busy"
READS = FOLIOS, PAGES = "folios", "pages"
# Of each: the file system, and where in its root.
MOUNTS = (("tmpfs", "dev"), ("tmpfs", "dev/shm"), ("mqueue", "dev/mqueue"), ("tmpfs", "run"),
          ("sysfs", "sys"))
NR_MOUNTS = len(MOUNTS) + 2     # and proc, and the root itself
# What all of them have below their own root: names, and what a container looks at.
IMAGE_FILES = 32
FILE_SIZE = 16 << 10


def make_image(where):
    """The lower layer of the roots."""
    for name in ("dev", "run", "sys", "proc", "etc"):
        os.makedirs(f"{where}/{name}")
    for number in range(IMAGE_FILES):
        with open(f"{where}/etc/{number}", "wb") as file:
            file.write(bytes(FILE_SIZE))


class Container:
    """One of them; `where` is on the disk that has its writable layer, too."""

    def __init__(self, name, image, where, parent=None):
        self.image, self.where = image, f"{where}/{name}"
        self.root = f"{self.where}/root"
        for part in ("", "/root", "/upper", "/work"):
            os.mkdir(self.where + part)
        self.group = Group(name, parent=parent)

    def start(self, kib=0):
        """The process that mounts what it has, from inside it; with `kib`, it leaves so much page
        cache and some dentries that can be reclaimed."""
        return self.group.start(self.set_up, kib)

    def set_up(self, hears, kib):
        init.checked(LIBC.unshare(CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET), "unshare")
        init.mount("overlay", self.root, f"lowerdir={self.image},upperdir={self.where}/upper,"
                   f"workdir={self.where}/work")
        for kind, place in MOUNTS:
            init.mount(kind, f"{self.root}/{place}")
        # It is that of the namespace in which the process is, and its children are.
        Process(None, self.mount_proc, ()).result()
        if kib:
            self.use(hears, kib)

    def mount_proc(self, _hears):
        init.mount("proc", f"{self.root}/proc")

    def use(self, _hears, kib):
        for number in range(IMAGE_FILES):
            os.stat(f"{self.root}/etc/{number}")
        with open(f"{self.root}/data", "wb", buffering=0) as file:
            file.write(bytes(kib << 10))
            os.fsync(file.fileno())

    def remove(self):
        """Also what it has written."""
        for place in ("proc", *(place for _, place in reversed(MOUNTS)), ""):
            init.umount(f"{self.root}/{place}")
        with contextlib.suppress(FileNotFoundError):
            os.remove(f"{self.where}/upper/data")
        self.group.remove()


def wait_for(processes):
    """For all of these, of which there are as many at a time as CPUs: each is started when it is
    asked for."""
    running = collections.deque()
    for process in processes:
        running.append(process)
        if len(running) == os.cpu_count():
            running.popleft().result()
    for process in running:
        process.result()


def start_many(number, image, where):
    """Makes the image and the containers, and starts these."""
    make_image(image)
    os.mkdir(where)
    found = []

    def starts():
        for name in range(number):
            found.append(Container(f"c{name}", image, where))
            yield found[-1].start()

    wait_for(starts())
    return found


def use_all(containers, kib):
    """Each has so much page cache and some dentries then."""
    wait_for(container.group.start(container.use, kib) for container in containers)
