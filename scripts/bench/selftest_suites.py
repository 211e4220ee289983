# SPDX-License-Identifier: GPL-2.0
"""Which of the kernel's own selftests run, and what is known of them.

Those of cgroups, but for what is about other controllers than memory and takes
long or depends on the host: test_cpu (it measures shares of CPU time),
test_cpuset_prs.sh and test_cpuset_v1_hp.sh (partitions and CPU hotplug). Of mm,
those that fill what has a shrinker or make the kernel reclaim: huge pages wait
on a list_lru of each group until they are split (khugepaged,
split_huge_page_test), droppable and mrelease_test make the kernel take memory
back, and hugetlb_reparenting_test.sh removes groups that are still charged.
Not here are folio_split_race_test, whose 16 threads look at the page cache of a
file for minutes where CPUs are emulated, and those of DAMON: it reclaims pages,
and calls no shrinker.
"""

import dataclasses

ZSWAP = (("/sys/module/zswap/parameters/enabled", "Y"),)
CLASSIC_LRU = (("/sys/kernel/mm/lru_gen/enabled", "0"),)
# Where a suite itself is what passes, fails or is skipped.
WHOLE = "(the suite)"


@dataclasses.dataclass(frozen=True)
class Suite:
    """A program of selftests/FOLDER, run in there."""
    name: str
    folder: str
    command: tuple
    quick: bool = False
    # Without KTAP, the exit status is the only result.
    ktap: bool = True
    # Files and what is written to them before, and taken back after it.
    settings: tuple = ()
    timeout: int = 300
    # Tests that may be skipped or fail, though on both kernels alike, and why.
    known: dict = dataclasses.field(default_factory=dict)
    # Tests that a busy host makes fail, and why: they may be repeated.
    timing: dict = dataclasses.field(default_factory=dict)


PROTECTION = ("what its groups keep depends on how far reclaim comes between two "
              "looks")
TIMING_MEMCONTROL = {
    "test_memcg_low": PROTECTION, "test_memcg_min": PROTECTION,
    "test_memcg_high_sync": "it has to look before its process, which goes on, gets "
                            "from memory.high to memory.max",
}
TIMING_KMEM = {"test_kmem_memcg_deletion":
               "the counters that it adds up are per CPU, and flushed by time"}
TIMING_ZSWAP = {"test_no_kmem_bypass": "it gives kswapd two seconds"}
# Seen on stock once in two runs.
TIMING_SPLIT = {WHOLE: "a huge page that somebody else looks at is not split, and "
                "the program ends there"}

SUITES = {suite.name: suite for suite in (
    Suite("test_kmem", "cgroup", ("./test_kmem",), quick=True,
          timing=TIMING_KMEM),
    Suite("test_memcontrol", "cgroup", ("./test_memcontrol",), quick=True,
          timing=TIMING_MEMCONTROL),
    Suite("test_zswap", "cgroup", ("./test_zswap",), quick=True, settings=ZSWAP,
          timing=TIMING_ZSWAP),
    Suite("test_core", "cgroup", ("./test_core",), quick=True),
    Suite("test_hugetlb_memcg", "cgroup", ("./test_hugetlb_memcg",), quick=True),
    Suite("test_kill", "cgroup", ("./test_kill",)),
    Suite("test_freezer", "cgroup", ("./test_freezer",)),
    Suite("test_pids", "cgroup", ("./test_pids",)),
    Suite("test_cpuset", "cgroup", ("./test_cpuset",)),
    Suite("test_stress", "cgroup", ("./test_stress.sh",)),
    Suite("test_kmem-classic-lru", "cgroup", ("./test_kmem",),
          settings=CLASSIC_LRU, timing=TIMING_KMEM),
    Suite("test_memcontrol-classic-lru", "cgroup", ("./test_memcontrol",),
          settings=CLASSIC_LRU, timing=TIMING_MEMCONTROL),
    Suite("khugepaged-anon", "mm", ("./khugepaged", "all:anon")),
    Suite("khugepaged-shmem", "mm", ("./khugepaged", "all:shmem")),
    Suite("khugepaged-file", "mm", ("./khugepaged", "all:file", "/tmp")),
    Suite("split_huge_page_test", "mm", ("./split_huge_page_test",),
          timing=TIMING_SPLIT),
    Suite("droppable", "mm", ("./droppable",)),
    Suite("mrelease_test", "mm", ("./mrelease_test",)),
    Suite("hugetlb_reparenting_test", "mm",
          ("./hugetlb_reparenting_test.sh", "-cgroup-v2"), ktap=False),
)}
