# SPDX-License-Identifier: GPL-2.0
"""What a kernel prints when it went wrong, in a test or beside one."""

import re

SPLATS = re.compile(r"WARNING:|BUG:|BUG \w|\bOops\b|Kernel panic|KASAN:|KCSAN:"
                    r"|general protection"
                    r"|possible recursive locking|circular locking"
                    r"|rcu_\w+ (?:self-)?detected (?:expedited )?stall"
                    r"|rcu.*detected stalls"
                    r"|INFO: task .* blocked|blocked for more than"
                    r"|INFO: trying to register"
                    r"|UBSAN:|kmemleak: \d+ new"
                    # Lockdep gives up, and would say nothing from then on.
                    r"|turning off the locking correctness validator")


# What a guest says that was asked by an NMI what it does, as qemu.run() does if it hangs.
ASKED = "NMI: Not continuing"
# As many lines as are shown of its stacks.
STACKS = 150
# In what each CPU says then, and where the kernel was: the function, and who called it.
CPU = re.compile(r"\] CPU: (\d+) .*? Comm: (.*?) (?:Not tainted|Tainted)")
CALL = re.compile(r"\](?: RIP: 0010:|  )([\w.]+)\+0x")
CALLS = 5
USER = "user space"
# What the NMI called on the CPU that panics, up to where it came.
OF_NMI = re.compile(r"<NMI>.*?(?=\n[^\n]*\] RIP: 0010:|</NMI>)", re.DOTALL)
# Before the stack of a task that waits, on no CPU.
WAITS = "] task:"
# Of a stack: registers, the bytes around the instruction pointer, and what may be left over.
NOT_CALLS = re.compile(r"\] (?:[RC][A-Z0-9]{1,2}: [0-9a-f]{16}|RSP: |FS: |CS: |Code: | +\? )")


def first(console):
    """The first such line of a console, or None."""
    for line in console.splitlines():
        if SPLATS.search(line):
            return line.strip()
    return None


def behind(console, lines=25):
    """What follows such a line, with its stack: the console's end is far from it if the
    guest went on."""
    found = SPLATS.search(console)
    if not found:
        return console
    start = console.rfind("\n", 0, found.start()) + 1
    return "\n".join(console[start:].splitlines()[:lines])


def asked(console):
    """What a guest said before it was asked what it does, and from then on."""
    at = console.find(ASKED)
    start = len(console) if at < 0 else console.rfind("\n", 0, at) + 1
    return console[:start], console[start:]


def stacks(console):
    """Of what it said from then on, that of its CPUs and of the tasks that wait."""
    return "\n".join([line for line in console.splitlines()
                      if not NOT_CALLS.search(line)][:STACKS])


def places(console):
    """In a line, where each CPU was that was asked."""
    found, calls = {}, []
    for line in OF_NMI.sub("", console).splitlines():
        if cpu := CPU.search(line):
            # The one that panics says it twice.
            calls = found[cpu.groups()] = []
        elif WAITS in line:
            calls = []
        elif call := CALL.search(line):
            calls.append(call[1])
    return "; ".join(f"CPU {cpu} ({task}): {' < '.join(calls[:CALLS]) or USER}"
                     for (cpu, task), calls in sorted(found.items()))
