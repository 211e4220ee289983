# SPDX-License-Identifier: GPL-2.0
"""The functions of a kernel, by name and by address."""

import bisect

from harness import tools
from harness.common import BenchError, shown


class Symbols:
    """Those of a vmlinux, with Rust's names as they are in the source."""

    def __init__(self, vmlinux):
        self.vmlinux = vmlinux
        self.by_name, self.variables, found = {}, {}, {}
        for line in tools.nm(vmlinux, shown(vmlinux)).splitlines():
            address, kind, name = line.split(maxsplit=2)
            if kind in "tTwW":
                address = int(address, 16)
                self.by_name[name] = address
                # Of several names for one place, the same in every kernel.
                found[address] = min(name, found.get(address, name))
            elif kind in "bBdD":
                self.variables[name] = int(address, 16)
        self.addresses = sorted(found)
        self.names = [found[address] for address in self.addresses]

    def at(self, address):
        """The name of the function there, and whether it begins there."""
        i = bisect.bisect_right(self.addresses, address) - 1
        if i < 0:
            return "unknown", False
        return self.names[i], self.addresses[i] == address

    def range(self, name):
        """From its first byte to the next function."""
        first = self.by_name.get(name)
        if first is None:
            raise BenchError(f"{shown(self.vmlinux)} has no {name}")
        return first, self.addresses[bisect.bisect_right(self.addresses, first)]

    def data(self, name):
        """The address of a variable."""
        if name not in self.variables:
            raise BenchError(f"{shown(self.vmlinux)} has no {name}")
        return self.variables[name]

    def first_of(self, *names):
        """That of the names which this kernel has."""
        return next((name for name in names if name in self.by_name), names[-1])

    def starting_with(self, *prefixes):
        return [name for name in self.by_name if name.startswith(prefixes)]
