# SPDX-License-Identifier: GPL-2.0
"""Where the tools look for what they share: beside themselves."""

import sys

from harness.common import ROOT

sys.path.insert(0, str(ROOT / "tools/cgroup"))
