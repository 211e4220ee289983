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
    # In the short form: tests that need an option which its kernels lack.
    lacking: dict = dataclasses.field(default_factory=dict)
    # Tests that a busy host makes fail, and why: they may be repeated.
    timing: dict = dataclasses.field(default_factory=dict)


PROTECTION = ("what its groups keep depends on how far reclaim comes between two "
              "looks")
TIMING_MEMCONTROL = {
    "test_memcg_low": PROTECTION, "test_memcg_min": PROTECTION,
    "test_memcg_high_sync": "it has to look before its process, which goes on, gets "
                            "from memory.high to memory.max",
}
LACKING_MEMCONTROL = {"test_memcg_sock": "CONFIG_NET", **dict.fromkeys(
    ("test_memcg_high_sync", "test_memcg_inotify_delete_file",
     "test_memcg_inotify_delete_dir"), "CONFIG_INOTIFY_USER")}
LACKING_CORE = {"test_cgcore_no_internal_process_constraint_on_threads":
                "CONFIG_CGROUP_SCHED"}
TIMING_KMEM = {"test_kmem_memcg_deletion":
               "the counters that it adds up are per CPU, and flushed by time"}
TIMING_ZSWAP = {"test_no_kmem_bypass":
                "it gives kswapd two seconds to swap out a fifth of the memory"}
TIMING_FREEZER = {"test_cgfreezer_ptrace":
                  "it looks at once after it has let its process go",
                  "test_cgfreezer_vfork": "its process may not have forked yet"}
TIMING_KHUGEPAGED = {"collapse_max_ptes_swap":
                     "a page that a CPU is about to put on a list is not swapped out"}
# Seen on stock once in two runs.
TIMING_SPLIT = {WHOLE: "a huge page that somebody else looks at is not split, and "
                "the program ends there"}

SUITES = {suite.name: suite for suite in (
    Suite("test_kmem", "cgroup", ("./test_kmem",), quick=True,
          timing=TIMING_KMEM),
    Suite("test_memcontrol", "cgroup", ("./test_memcontrol",), quick=True,
          lacking=LACKING_MEMCONTROL, timing=TIMING_MEMCONTROL),
    Suite("test_zswap", "cgroup", ("./test_zswap",), settings=ZSWAP,
          timing=TIMING_ZSWAP),
    Suite("test_core", "cgroup", ("./test_core",), quick=True,
          lacking=LACKING_CORE),
    Suite("test_hugetlb_memcg", "cgroup", ("./test_hugetlb_memcg",)),
    Suite("test_kill", "cgroup", ("./test_kill",)),
    Suite("test_freezer", "cgroup", ("./test_freezer",), timing=TIMING_FREEZER),
    Suite("test_pids", "cgroup", ("./test_pids",)),
    Suite("test_cpuset", "cgroup", ("./test_cpuset",)),
    Suite("test_stress", "cgroup", ("./test_stress.sh",)),
    Suite("test_kmem-classic-lru", "cgroup", ("./test_kmem",),
          settings=CLASSIC_LRU, quick=True, timing=TIMING_KMEM),
    Suite("test_memcontrol-classic-lru", "cgroup", ("./test_memcontrol",),
          settings=CLASSIC_LRU, lacking=LACKING_MEMCONTROL,
          timing=TIMING_MEMCONTROL),
    Suite("khugepaged-anon", "mm", ("./khugepaged", "all:anon"),
          timing=TIMING_KHUGEPAGED),
    Suite("khugepaged-shmem", "mm", ("./khugepaged", "all:shmem"),
          timing=TIMING_KHUGEPAGED),
    Suite("khugepaged-file", "mm", ("./khugepaged", "all:file", "/tmp")),
    Suite("split_huge_page_test", "mm", ("./split_huge_page_test",),
          timing=TIMING_SPLIT),
    Suite("droppable", "mm", ("./droppable",), quick=True),
    Suite("mrelease_test", "mm", ("./mrelease_test",)),
    Suite("hugetlb_reparenting_test", "mm",
          ("./hugetlb_reparenting_test.sh", "-cgroup-v2"), ktap=False),
)}
