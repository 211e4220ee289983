# SPDX-License-Identifier: GPL-2.0
"""What is measured: a file for each family of scenarios."""
