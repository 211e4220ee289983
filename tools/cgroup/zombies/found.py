# SPDX-License-Identifier: GPL-2.0
"""What is found of removed memory cgroups: plain records, without the kernel's objects."""

import dataclasses

# Who can hold a css of the memory controller. reasons of --json, labels of --prometheus.
SWAP = "swap"
INOTIFY = "inotify"
FANOTIFY = "fanotify"
SOCKET = "socket"
TASK = "task"
NAMESPACE = "cgroup_namespace"
CSS_SET = "css_set"
WRITEBACK = "writeback"
STOCK = "stock"
CHILD = "child"
MM = "mm"
OOM = "oom"
EVENT = "event"
ZSWAP = "zswap"
OFFLINING = "offlining"
UNEXPLAINED = "unexplained"
REASONS = {
    SWAP: "swapped-out pages that were charged to it",
    INOTIFY: "an inotify instance that was created in it",
    FANOTIFY: "a fanotify group that was created in it",
    SOCKET: "a socket that was created in it",
    TASK: "processes that ended in it and were not reaped, or are about to end",
    NAMESPACE: "a cgroup namespace that was created in it",
    CSS_SET: "a css_set of which neither a process nor a namespace is known",
    WRITEBACK: "a bdi_writeback, most often with dirty inodes",
    STOCK: "pages charged ahead, on a CPU from which they were not taken back",
    CHILD: "cgroups below it that are held themselves",
    MM: "an address space on its list for MGLRU",
    OOM: "a process that waits in it for memory (cgroup v1)",
    EVENT: "an eventfd of cgroup.event_control (cgroup v1)",
    ZSWAP: "the cursor of the zswap shrinker",
    OFFLINING: "the kernel, which has not yet finished removing it",
    UNEXPLAINED: "references whose holder was not found",
}


@dataclasses.dataclass
class Holder:
    """Whoever holds what holds a group."""
    what: str
    pid: int = 0
    comm: str = ""
    fd: int = -1

    def __str__(self):
        process = f"{self.comm}[{self.pid}]" if self.pid else ""
        fd = f"fd {self.fd}" if self.fd >= 0 else ""
        return " ".join(filter(None, (process, fd, self.what)))


@dataclasses.dataclass
class Hold:
    """A reason, and how many references of the css it accounts for."""
    reason: str
    references: int
    what: str
    holders: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Age:
    """Seconds since it was removed: at least and at most, None if nothing tells."""
    least: float
    most: float | None
    how: str

    @property
    def exact(self):
        return self.most is not None and self.most - self.least < 0.001


@dataclasses.dataclass
class Group:
    """A memory cgroup that was removed, and still is there."""
    address: int
    path: str
    # A cgroup of the same path is there now.
    path_in_use: bool
    # Only the controller was taken from it.
    cgroup_lives: bool
    cgroup_id: int
    css_id: int
    private_id: int
    level: int
    serial: int
    # Of the removal: populated, killed or offline.
    stage: str
    references: int
    # What the kernel itself holds until the group is offline.
    own_references: int
    stats_state: str | None = None
    age: Age | None = None
    # Bytes, by part; per-CPU memory has the sum over all possible CPUs.
    memory: dict = dataclasses.field(default_factory=dict)
    per_cpu: dict = dataclasses.field(default_factory=dict)
    holds: list = dataclasses.field(default_factory=list)

    @property
    def per_cpu_bytes(self):
        return sum(self.per_cpu.values())

    @property
    def bytes(self):
        return sum(self.memory.values()) + self.per_cpu_bytes

    @property
    def unexplained(self):
        """References that nothing accounts for; negative if they went away while the
        kernel was read."""
        return self.references - self.own_references - sum(
            hold.references for hold in self.holds)

    @property
    def reasons(self):
        found = {hold.reason for hold in self.holds}
        if self.own_references:
            found.add(OFFLINING)
        if self.unexplained > 0:
            found.add(UNEXPLAINED)
        return [reason for reason in REASONS if reason in found]


@dataclasses.dataclass
class Scan:
    """All that one run found."""
    release: str
    live: bool
    implementation: str
    cpus: int
    nodes: int
    hierarchy: str
    # What the kernel counts: some wait for a grace period, and are on no list.
    counted: int
    groups: list
    # What could not be read.
    notes: list
    seconds: float = 0.0
