# SPDX-License-Identifier: GPL-2.0
"""The figures of the 2018 series, to be shown beside ours.

Elapsed seconds of five sequential calls of `time echo 3 >
/proc/sys/vm/drop_caches` with 4000 groups and mounts, as given in the cover
letter of "[PATCH v7 REBASED 00/17] Improve shrink_slab() scalability (old
complexity was O(n^2), new is O(n))" by Kirill Tkhai, 18 June 2018,
<152931506756.28457.5620076974981468927.stgit@localhost.localdomain>, and again
in the message of its last patch, "mm: Clear shrinker bit if there are no
objects related to memcg".
"""

SOURCE = ("Kirill Tkhai, \"Improve shrink_slab() scalability\", June 2018: "
          "cover letter, and commit message of the last patch")
N = 4000
BEFORE = (13.78, 5.60, 5.48, 8.35, 8.35)
AFTER = (1.10, 0.01, 0.01, 0.01, 0.01)
