# SPDX-License-Identifier: GPL-2.0
"""Reads a dump with memcg_zombies.py, whole and with each of its finders in turn taken
away: what that one finds must then be missed. Prints all as JSON.

Run by the system's Python, which is the one that has drgn:

	python3 -m tests.zombies.blinded CORE VMLINUX
"""

import json
import sys

from tools.cgroup import memcg_zombies

# Those that the tool itself has imported.
holders, kernel, report = (getattr(memcg_zombies, name)
                           for name in ("holders", "kernel", "report"))


def main():
    core, vmlinux = sys.argv[1:]
    program = kernel.open_program(core, vmlinux)
    whole = memcg_zombies.scan(program)
    found = {"whole": json.loads(report.as_json(whole)),
             "metrics": report.as_prometheus(whole, True),
             "table": report.as_table(whole), "without": {}}
    finders = holders.FINDERS
    for finder in finders:
        holders.FINDERS = tuple(other for other in finders if other is not finder)
        groups = memcg_zombies.scan(program).groups
        found["without"][finder.__name__] = {
            reason: sum(reason in group.reasons for group in groups)
            for reason in report.REASONS}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
