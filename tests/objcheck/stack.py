# SPDX-License-Identifier: GPL-2.0
"""How much stack functions take, by the unwind data (ORC) that the kernel's
objtool made of their instructions: what is pushed, reserved, and the return
address."""

import bisect
import re

from harness import tools
from tests.objcheck.functions import CALL, JUMP

ENTRY = re.compile(r"(\S+?)\+([0-9a-f]+):type:(\S+) sp:(\S+) ")
FROM_SP = re.compile(r"sp\+(\d+)$")
FROM_BP = re.compile(r"bp\+(\d+)$")
PUSH = re.compile(r"pushq? ")
MOVE_SP = re.compile(r"(add|sub)q? \$(-?0x[0-9a-f]+), ?%rsp$")
# What gives back only, and what else may write to the stack pointer.
GIVE_BACK = re.compile(r"popq? (?!%rsp)|leaveq?$|movq? %rbp, ?%rsp$")
WRITE_SP = re.compile(r"(.*, ?|\w+ )%rsp$|enter")
# What fills the space to the next aligned place, or marks a trampoline of a static call; control
# never gets there.
PADDING = re.compile(r"nop|int3$|ud1|xchg|data16")


class Unwind:
    """The unwind data of an object file."""

    def __init__(self, path, objtool):
        self.sections = {}
        text = tools.run([objtool, "--dump=orc", path], path)
        for match in ENTRY.finditer(text):
            there = self.sections.setdefault(match[1], ([], []))
            there[0].append(int(match[2], 16))
            # None where no code should be.
            there[1].append(None if match[3] == "(und)" else match[4])

    def at(self, section, offset):
        offsets, values = self.sections.get(section, ([], []))
        i = bisect.bisect_right(offsets, offset) - 1
        return values[i] if i >= 0 else None


def _growth(what):
    """By how many bytes the instruction makes a frame larger; None if that is unknown."""
    if PUSH.match(what):
        return 8
    if move := MOVE_SP.match(what):
        by = int(move[2], 16)
        # Some disassemblers write no sign, but 64 bits.
        by -= (1 << 64) * (by >= 1 << 63)
        return max(0, by if move[1] == "sub" else -by)
    return 0 if GIVE_BACK.match(what) or not WRITE_SP.match(what) else None


def frame(function, unwind):
    """The largest number of bytes that it takes; and what makes it unknown.

    Where the frame pointer is what unwinding goes by, all that is ever pushed
    and reserved counts, as if nothing of it was given back.
    """
    most = grown = 0
    for offset, what in function.instructions:
        value = unwind.at(function.section, offset)
        if value is None:
            if PADDING.match(what):
                continue
            return None, f"no unwind data at {function.section}+{offset:#x}"
        match = FROM_SP.match(value)
        if not match:
            grows = _growth(what)
            match = FROM_BP.match(value)
            if not match or grows is None:
                return None, (f"the stack pointer is {value} at {function.section}+"
                              f"{offset:#x}, which depends on what runs")
            grown += grows
        most = max(most, int(match[1]) + grown)
    return (most, None) if most else (None, "no instructions")


class Depths:
    """The most that calls from one function to another add up to.

    A jump to another function counts as a call, though its frame is gone then.
    """

    def __init__(self, ours, frames, find):
        self.ours, self.frames, self.find = ours, frames, find
        self.recursion = set()
        self._known, self._open = {}, []

    def deepest(self, function):
        """The sum, and the path to it; functions that call themselves are
        counted once and kept in `recursion`."""
        if function in self._open:
            first = self._open.index(function)
            self.recursion.add(tuple(self._open[first:]))
            return 0, ()
        if function not in self._known:
            self._open.append(function)
            below = [self.deepest(target)
                     for target in map(self.find, function.targets(CALL, JUMP))
                     if target in self.ours]
            self._open.pop()
            depth, path = max(below, key=lambda pair: pair[0], default=(0, ()))
            # That some are unknown is an error elsewhere.
            depth += self.frames.get(function, 0)
            self._known[function] = depth, (function, *path)
        return self._known[function]
