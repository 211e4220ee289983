# SPDX-License-Identifier: GPL-2.0
"""Where things are, and errors that need no traceback."""

import json
import os
import pathlib
import signal
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
OUT = BUILD / "bench"
LOGS = OUT / "log"
# What each target counted; a run of several gives each a folder of its own.
RESULTS = pathlib.Path(os.environ.get("RESULTS") or BUILD / "results")
SELFTEST = ROOT / "tools/testing/selftests/mm_reclaim"
# Whether the short form of something is wanted.
QUICK = os.environ.get("QUICK", "") not in ("", "0")


class BenchError(Exception):
    """Something a user can act on; shown without a traceback."""


class Unexpected(BenchError):
    """Something that a guest said is not as it must be."""


def expect(condition, text):
    if not condition:
        raise Unexpected(text)


def shown(path):
    """The path as a user in the project's folder would type it."""
    try:
        return str(pathlib.Path(path).relative_to(ROOT))
    except ValueError:
        return str(path)


def tail(text, lines=25):
    """The end of a log, indented; the log itself has the long lines."""
    return "\n".join("    | " + line[:160] for line in text.splitlines()[-lines:])


def record(name, passed, failed):
    """For the total at the end of a run of several targets, as record of
    scripts/lib.sh."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / name).write_text(f"{passed} {failed}\n", encoding="ascii")


def write_json(path, content):
    """At once, and never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    os.replace(new, path)


def raise_exit(signum, _frame):
    """Lets `finally` run, so that no guest is left behind."""
    sys.exit(128 + signum)


def main(function):
    """Runs a program's main function with the error handling of all of them."""
    signal.signal(signal.SIGTERM, raise_exit)
    signal.signal(signal.SIGHUP, raise_exit)
    try:
        sys.exit(function())
    except BenchError as error:
        sys.stdout.flush()
        name = pathlib.Path(sys.argv[0]).name
        print(f"\n{name}: error: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        sys.exit(130)
