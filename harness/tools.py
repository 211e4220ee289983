# SPDX-License-Identifier: GPL-2.0
"""Runs other programs, such as those that read object files."""

import contextlib
import os
import signal
import subprocess
import time

from harness.common import LOGS, BenchError, shown, tail

# As scripts/deps installs them.
LLVM = os.environ.get("LLVM", "-19")
# For a program to end its guests, in seconds.
PATIENCE = 30


def end(process):
    """Ends a process with a session of its own, and all that it has started in that."""
    deadline = time.monotonic() + PATIENCE
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        while time.monotonic() < deadline:
            process.poll()
            os.killpg(process.pid, 0)
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def status(command, **more):
    """Its status. If this is interrupted, so is all that the command has started: what is
    left of a build could write an object file when the source is another one already."""
    with subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL,
                          start_new_session=True, **more) as process:
        try:
            return process.wait()
        except BaseException:
            end(process)
            raise


def run(command, what, text=None, **more):
    """What the command prints; `what` is what an error says it was for."""
    command = [str(part) for part in command]
    try:
        result = subprocess.run(command, input=text, capture_output=True,
                                text=True, check=False, **more)
    except FileNotFoundError:
        raise BenchError(f"{command[0]} is not installed: run 'make deps'") from None
    if result.returncode:
        raise BenchError(f"{what}: {command[0]} failed: {result.stderr.strip()}")
    return result.stdout


def logged(command, what, log, **more):
    """Its output goes to a log, the end of which an error shows."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log, command = LOGS / log, [str(part) for part in command]
    with open(log, "w", encoding="utf-8") as file:
        print(*command, file=file, flush=True)
        failed = status(command, stdout=file, stderr=subprocess.STDOUT, **more)
    if failed:
        raise BenchError(f"{what} does not build, see {shown(log)}\n"
                         + tail(log.read_text(errors="replace")))


def nm(path, what):
    """The symbols of a file, with Rust's names as they are in the source."""
    return run(["llvm-nm" + LLVM, "--demangle", path], what)


def objdump(path, *options):
    return run(["llvm-objdump" + LLVM, *options, path], path)


def demangle(names):
    """A dictionary from each name to the one in the source."""
    names = sorted(names)
    lines = run(["llvm-cxxfilt" + LLVM], "demangling", "\n".join(names) + "\n")
    return dict(zip(names, lines.splitlines()))
