# SPDX-License-Identifier: GPL-2.0
"""Page cache that outlives a cgroup's limit, for guests that are Python programs."""
