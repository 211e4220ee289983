# SPDX-License-Identifier: GPL-2.0
"""The functions of an object file, and what each of them calls or refers to.

Both the instructions and the relocations are needed: the assembler leaves no
relocation where a function calls another one of its section.
"""

import bisect
import dataclasses
import re

from harness import tools
from harness.common import BenchError

SECTION = re.compile(r"(?:Disassembly of section |RELOCATION RECORDS FOR \[)"
                     r"(.*?)\]?:$")
LABEL = re.compile(r"([0-9a-f]+) <(.*)>:$")
# Of an instruction, or of a relocation, which stands below its instruction.
LINE = re.compile(r"\s+([0-9a-f]+):\s+(\S+)\s*(.*)$")
DATA_LINE = re.compile(r"([0-9a-f]{16}) (R_\S+)\s+(\S+)$")
# In the table of symbols, one that is data.
DATA_SYMBOL = re.compile(r"[0-9a-f]{16} .{6}O \S+\s+[0-9a-f]+ (?:\.hidden )?(\S+)$")
OPERAND = re.compile(r"(\S+?)([-+]0x[0-9a-f]+)?$")
DIRECT = re.compile(r"0x([0-9a-f]+)\b")
# By the table of a switch.
SWITCH = re.compile(r"\*.*\(,%\w+,8\)$")
# Their addend counts from the end of the four bytes.
PC_RELATIVE = ("R_X86_64_PLT32", "R_X86_64_PC32")
DATA = (".data", ".rodata", ".init.data", ".init.rodata")
# Room in front of functions, for tracing and call depth.
NO_FUNCTIONS = ("__pfx_", "__cfi_")
THUNK = "__x86_indirect_"

# Kinds of edges.
CALL, JUMP, REFERENCE = "call", "jump", "reference"


@dataclasses.dataclass(eq=False)
class Function:
    name: str
    path: str
    section: str
    start: int
    end: int = 0
    # Pairs of an offset and an instruction, as the disassembler writes it.
    instructions: list = dataclasses.field(default_factory=list)
    # Lists of a kind and a target: a function of the same object, or a name.
    edges: list = dataclasses.field(default_factory=list)
    # Calls to a place that only the running kernel knows.
    indirect: int = 0

    def targets(self, *kinds):
        return {target for kind, target in self.edges
                if not kinds or kind in kinds}


class Object:
    """One object file for x86_64, before it is linked."""

    def __init__(self, path, shown):
        self.path, self.shown = path, shown
        self.functions = []
        # Each name of each function; of several, one is shown.
        self.by_name = {}
        self._by_section = {}
        self._data_names = set()
        self._read_code()
        # What is in tables; which function uses a table is not known.
        self.tables = Function("tables", shown, "", 0)
        self._read_data()
        for function in (*self.functions, self.tables):
            self._resolve(function)

    def at(self, section, offset):
        """The function there, or None."""
        there = self._by_section.get(section, [])
        i = bisect.bisect_right(there, offset, key=lambda f: f.start) - 1
        return there[i] if i >= 0 and offset < there[i].end else None

    def _read_code(self):
        section = function = branch = None
        text = tools.objdump(self.path, "-d", "-r", "--no-show-raw-insn",
                             "--show-all-symbols")
        for line in text.splitlines():
            if match := SECTION.match(line):
                section, function = match[1], None
            elif match := LABEL.match(line):
                function = self._label(match[2], section, int(match[1], 16),
                                       function)
            elif not (match := LINE.match(line)):
                if function and line.strip():
                    raise BenchError(f"{self.shown}: what is '{line.strip()}'?")
            elif match[2].startswith("R_"):
                target = place(match[2], match[3])
                if branch:
                    branch[1] = target
                else:
                    function.edges.append([REFERENCE, target])
                function.indirect += str(target).startswith(THUNK)
            else:
                offset = int(match[1], 16)
                function.end = offset + 1
                function.instructions.append((offset, f"{match[2]} {match[3]}".strip()))
                branch = add_branch(function, match[2], match[3])

    def _label(self, name, section, start, last):
        if last and last.start == start:
            self.by_name[name] = last
            return last
        function = Function(name, self.shown, section, start)
        if not name.startswith(NO_FUNCTIONS):
            self.by_name[name] = function
            self.functions.append(function)
            self._by_section.setdefault(section, []).append(function)
        return function

    def _read_data(self):
        section = ""
        for line in tools.objdump(self.path, "-t").splitlines():
            if match := DATA_SYMBOL.match(line):
                self._data_names.add(match[1])
        for line in tools.objdump(self.path, "-r").splitlines():
            if match := SECTION.match(line):
                section = match[1]
            elif section.startswith(DATA) and (match := DATA_LINE.match(line)):
                self.tables.edges.append([REFERENCE, place(match[2], match[3])])

    def _resolve(self, function):
        """Replaces places in sections; branches within a function go, and
        references to data."""
        edges = []
        for kind, target in function.edges:
            if target in self._data_names:
                continue
            if isinstance(target, str):
                found = self.by_name.get(target, target)
            else:
                inside = kind == JUMP or target[1] != function.start
                found = self.at(*target)
                if found is None or (found is function and inside):
                    continue
            edges.append((kind, found))
        function.edges = edges


def add_branch(function, what, operands):
    """Returns the edge that a relocation may correct, if it is a branch."""
    if not what.startswith(("call", "j")):
        return None
    kind = CALL if what.startswith("call") else JUMP
    if operands.startswith("*"):
        # Linked kernels call thunks for these, with a relocation.
        function.indirect += kind == CALL or not SWITCH.match(operands)
        return None
    match = DIRECT.match(operands)
    if not match:
        raise BenchError(f"{function.path}: where does '{what} {operands}' go?")
    function.edges.append([kind, (function.section, int(match[1], 16))])
    return function.edges[-1]


def place(kind, operand):
    """The name that a relocation is for, or its section and offset there."""
    name, addend = OPERAND.match(operand).groups()
    if not name.startswith("."):
        return name
    return name, int(addend or "0", 16) + 4 * (kind in PC_RELATIVE)
