# SPDX-License-Identifier: GPL-2.0
"""What the tools for memory cgroups share: where these are, and how what was found is shown."""

import os
import sys

CGROUP_ROOTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/memory")


class Failed(Exception):
    """What keeps the program from doing its task, and what helps."""


def cgroup_root():
    """Where memory cgroups are mounted: version 2, or version 1 on its own."""
    for root in CGROUP_ROOTS:
        if (os.path.exists(os.path.join(root, "cgroup.controllers")) or
                os.path.exists(os.path.join(root, "memory.usage_in_bytes"))):
            return root
    raise Failed("no memory cgroups are mounted at " + " or ".join(CGROUP_ROOTS)
                 + "; use --cgroup-root")


def text_path(path, root):
    """As the hierarchy has it; names may be any bytes."""
    relative = os.path.relpath(path, root)
    return os.fsencode("/" if relative == "." else "/" + relative).decode(
        "utf-8", "backslashreplace")


def printable(text):
    """A cgroup can have any name, also one that would move the cursor."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def aligned(rows):
    """Rows of texts as lines: to the right, and what is last to the left."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join([*map(str.rjust, row[:-1], widths), row[-1]]) for row in rows]


def escaped(text):
    """As the value of a label of Prometheus."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def sample(name, labels, value):
    """A line of a metric; labels are pairs of names and values."""
    shown = ",".join(f'{key}="{escaped(str(text))}"' for key, text in labels)
    return f"{name}{{{shown}}} {value}" if labels else f"{name} {value}"


def family(name, kind, about, samples):
    """The lines of one metric; samples are labels and a value each."""
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        yield sample(name, labels, value)


def show(text):
    """Prints it, unless whoever reads it has seen enough."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
