# SPDX-License-Identifier: GPL-2.0
"""What is checked: a folder for each kind."""
