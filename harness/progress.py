# SPDX-License-Identifier: GPL-2.0
"""Which step of how many this is, how long it has taken, and how long the rest may."""

import json
import re
import statistics
import time

from harness.common import BUILD, write_json

# How long each step took the last time, by program.
TIMES = BUILD / "times.json"
# The rounds of a bench take the same time.
ROUND = re.compile(r"round \d+/\d+, ")


def load():
    try:
        return json.loads(TIMES.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def remember(tool, step, seconds):
    """Other programs may do so at the same time: what one of them loses is a guess."""
    times = load()
    times.setdefault(tool, {})[step] = round(seconds, 1)
    write_json(TIMES, times)


def minutes(seconds):
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


class Progress:
    """Prints a line for each step, whose names are known from the beginning."""

    def __init__(self, tool, steps):
        self.tool = tool
        self.left = [ROUND.sub("", step) for step in steps]
        self.steps = len(self.left)
        self.known = load().get(tool, {})
        self.start = self.began = time.monotonic()
        self.current = None
        self.took = []

    def estimate(self):
        """Of what this step and those after it take, or nothing if none was ever
        timed."""
        known = [self.known[step] for step in self.left if step in self.known]
        if not known and not self.took:
            return ""
        usual = statistics.mean(self.took or known)
        left = sum(known) + usual * (len(self.left) - len(known))
        return f", {minutes(left)} left"

    def next(self, text):
        print(f"[{self.steps - len(self.left) + 1}/{self.steps} "
              f"{time.monotonic() - self.start:4.0f}s{self.estimate()}] {text}",
              end="", flush=True)
        self.current = self.left.pop(0)
        self.began = time.monotonic()

    def done(self, text, counts=True):
        """`counts` is whether it took as long as it will the next time."""
        seconds = time.monotonic() - self.began
        if counts:
            self.known[self.current] = seconds
            self.took.append(seconds)
            remember(self.tool, self.current, seconds)
        print(f": {text}", flush=True)
        return seconds

    def skip(self, text, why="skipped"):
        self.next(text)
        self.done(why, counts=False)
