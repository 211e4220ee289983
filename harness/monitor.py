# SPDX-License-Identifier: GPL-2.0
"""QEMU's monitor (QMP), which a guest has at a UNIX socket."""

import json
import socket

from harness.common import BenchError


def arguments(path):
    """Of QEMU, which makes the socket."""
    return ("-qmp", f"unix:{path},server=on,wait=off")


def ask(path, name, timeout, **arguments):
    """Has the guest's QEMU do one command, and waits for its answer."""
    with socket.socket(socket.AF_UNIX) as control:
        control.settimeout(timeout)
        control.connect(str(path))
        with control.makefile("rw", encoding="utf-8") as stream:
            stream.readline()  # the greeting
            command(stream, "qmp_capabilities")
            command(stream, name, **arguments)


def command(stream, name, **arguments):
    """Events that come in between are nobody's concern."""
    stream.write(json.dumps({"execute": name, "arguments": arguments}) + "\n")
    stream.flush()
    for line in stream:
        try:
            answer = json.loads(line)
        except ValueError:
            # It ended in the middle of a line.
            break
        if "error" in answer:
            raise BenchError(f"QEMU refuses {name}: {answer['error']['desc']}")
        if "return" in answer:
            return
    raise BenchError(f"QEMU does not answer {name}")
