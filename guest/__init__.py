# SPDX-License-Identifier: GPL-2.0
"""What runs inside a guest; its first process is a program of workloads/."""
