# SPDX-License-Identifier: GPL-2.0
"""Instructions of hot paths, counted by a plugin of QEMU's."""
