# SPDX-License-Identifier: GPL-2.0
"""What runs on the host: kernels, guests, what they say, and reports."""
