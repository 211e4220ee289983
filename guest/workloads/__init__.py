# SPDX-License-Identifier: GPL-2.0
"""The first processes of guests, one file each."""
