# SPDX-License-Identifier: GPL-2.0
"""What memcg_zombies.py is made of. report.py and the records of found.py need nothing;
all else needs drgn."""
