# SPDX-License-Identifier: GPL-2.0
"""Runs all checks of a tier (tiers.py says which), each to its end, and
sums up.

Guests run on one side, and kernels are built on the other, at a lower priority: a
guest seldom keeps two cores busy. Times that benches measure there mean nothing; in
a release they run alone, afterwards.

What a release has passed is kept in docs/figures/release.json, and is not run again as
long as what it depends on is the same (released.py). So it may be interrupted, and go on
on another machine.
"""

import argparse
import concurrent.futures
import datetime
import os
import re
import subprocess
import threading
import time
from dataclasses import dataclass

from harness import figures, revision, selection, session, tiers, tools
from harness.common import BUILD, ROOT, BenchError, main, shown
from harness.released import Released

# Of builds and of checks that need only a CPU, while guests run.
NICE = 10
# What an interrupt has to end.
RUNNING = set()


@dataclass
class Outcome:
    """What came of a step."""
    passed: int
    failed: int
    seconds: float
    cpu: float = 0  # seconds, of all its processes


def recorded(folder, status):
    """What the target counted itself, or one for the target."""
    counts = [tuple(map(int, path.read_text(encoding="ascii").split()))
              for path in folder.glob("*")]
    passed, failed = (sum(column) for column in zip(*counts)) if counts else (0, 0)
    if status and not failed:
        failed += 1
    elif not counts:
        passed += 1
    return passed, failed


def log_of(step, folder):
    return folder / f"{step.name.replace(' ', '-')}.log"


def lines_of(log):
    return log.read_text(encoding="utf-8", errors="replace").splitlines()


def run_step(step, folder, nice=0, stream=False):
    """Makes a target; its output goes to a file, and to the terminal if asked."""
    log = log_of(step, folder)
    results = folder / "results" / log.stem
    results.mkdir(parents=True, exist_ok=True)
    for old in results.glob("*"):
        old.unlink()
    command = ["make", "--no-print-directory", "-C", str(ROOT), step.target,
               *step.variables]
    if nice:
        command = ["nice", "-n", str(nice), *command]
    start = time.monotonic()
    with open(log, "w", encoding="utf-8", errors="replace") as file:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "RESULTS": str(results)},
                              start_new_session=True) as make:
            RUNNING.add(make)
            for line in make.stdout:
                text = line.decode(errors="replace")
                file.write(text)
                file.flush()
                if stream:
                    print(text, end="", flush=True)
            _, status, used = os.wait4(make.pid, 0)
            make.returncode = os.waitstatus_to_exitcode(status)
            RUNNING.remove(make)
    return Outcome(*recorded(results, make.returncode), time.monotonic() - start,
                   used.ru_utime + used.ru_stime)


class Both:
    """The two sides of a run, which go through the steps at the same time."""

    def __init__(self, steps, folder, keep=lambda step, outcome: None):
        self.steps = steps
        self.folder = folder
        self.keep = keep
        self.outcomes = {}
        self.ended = {step: concurrent.futures.Future() for step in steps}
        self.start = time.monotonic()
        self.one_speaks = threading.Lock()

    def say(self, text):
        print(f"[{len(self.outcomes)}/{len(self.steps)} "
              f"{time.monotonic() - self.start:5.0f}s] {text}", flush=True)

    def built(self, step):
        """Waits for the kernels of a step, and returns one that failed."""
        return next((kernel.name for kernel in map(tiers.kernel, step.kernels)
                     if self.ended[kernel].result().failed), None)

    def one(self, step, nice):
        log, missing = log_of(step, self.folder), self.built(step)
        if missing:
            outcome = Outcome(0, 1, 0)
            log.write_text(f"not run: \"make {missing}\" failed\n", encoding="utf-8")
        else:
            with self.one_speaks:
                self.say(f"make {step.name} ...")
            outcome = run_step(step, self.folder, nice)
        self.ended[step].set_result(outcome)
        with self.one_speaks:
            self.outcomes[step] = outcome
            self.keep(step, outcome)
            self.say(f"make {step.name}: "
                     f"{'FAILED' if outcome.failed else 'passed'} "
                     f"after {outcome.seconds:.0f} s")
            print("".join(f"    {line}\n" for line in lines_of(log)), end="", flush=True)

    def side(self, guests):
        for step in self.steps:
            if step.guests == guests:
                self.one(step, 0 if guests else NICE)

    def run(self):
        sides = [threading.Thread(target=self.side, args=(guests,), daemon=True)
                 for guests in (True, False)]
        for side in sides:
            side.start()
        for side in sides:
            side.join()
        return self.outcomes


# How checks say that something failed: the end of a log may be of another one. And
# what they show of a log of their own, in the lines that follow.
FAILURE = re.compile(r"FAIL|MISSED|ERROR|\berror:|(?<!\b0 )\b[Ff]ailed\b")
QUOTED = re.compile(r"\s+\| ")
MOST_LINES = 40


def reasons(lines):
    """What a log says of a failure, or else its end."""
    said, is_reason = [], False
    for line in lines:
        is_reason = bool(FAILURE.search(line) or (is_reason and QUOTED.match(line)))
        if is_reason:
            said.append(line)
    return said[:MOST_LINES] or lines[-MOST_LINES:]


def failures(steps, outcomes, folder):
    """What the logs of the steps that failed say of that."""
    for step in steps:
        if not outcomes[step].failed:
            continue
        yield f"make {step.name} failed:"
        yield from (f"    {line[:300]}"
                    for line in reasons(lines_of(log_of(step, folder))))


def run_release(steps, folder, kept):
    """Runs steps but for those that have passed."""
    if revision.uncommitted_code():
        raise BenchError("there are changes that are not committed: what was run with "
                         "them could not be said afterwards")
    print(f"what passed is kept in {shown(kept.path)}; FRESH=1 starts anew, and "
          "'make docs-figures' quotes it in docs/")
    outcomes = {}

    def keep(step, outcome):
        outcomes[step] = outcome
        kept.keep(step, outcome, tiers.RELEASE)

    left = []
    for step in steps:
        if row := kept.passed(step):
            print(f"make {step.name}: passed at {row['revision']}")
            outcomes[step] = Outcome(row["passed"], 0, 60 * row["minutes"],
                                     60 * row["CPU minutes"])
        else:
            left.append(step)
    Both([step for step in left if not step.alone], folder, keep).run()
    for step in left:
        if step.alone:
            print(f"[{len(outcomes)}/{len(steps)}] make {step.name}", flush=True)
            keep(step, run_step(step, folder, stream=True))
    return outcomes


def minutes(seconds):
    return "{}:{:02}".format(*divmod(round(seconds), 60))


def summary(steps, outcomes):
    """As Markdown."""
    yield f"Revision {revision.described()}, {datetime.date.today()}, {os.cpu_count()} CPUs."
    yield ""
    yield "| make | passed | failed | min:s | CPU min:s |"
    yield "|---|---|---|---|---|"
    for step in steps:
        outcome = outcomes[step]
        yield (f"| {step.name} | {outcome.passed} | {outcome.failed} "
               f"| {minutes(outcome.seconds)} | {minutes(outcome.cpu)} |")


def write_times(path, steps, outcomes, built_before):
    """For 'make docs-figures FROM=', if all passed and it can be said at which revision."""
    path.unlink(missing_ok=True)
    if revision.uncommitted_code() or any(outcomes[step].failed for step in steps):
        return
    ccache = "no" if os.environ.get("CCACHE_DISABLE") else "a"
    fields = {
        "revision": revision.commit(), "date": str(datetime.date.today()), "rounds": 1,
        "command": ".ci/run",
        "machine": f"{session.cpu_model()}, {os.cpu_count()} CPUs, {ccache} ccache, "
                   f"{'some' if built_before else 'no'} kernels built before."}
    rows = [[step.name, round(outcomes[step].seconds / 60, 1),
             round(outcomes[step].cpu / 60, 1)] for step in steps]
    path.write_text(figures.written(fields, {"steps": {
        "columns": ["make", "minutes", "CPU minutes"], "rows": rows}}), encoding="utf-8")
    print(f"written: {shown(path)}, which 'make docs-figures FROM=' takes")


def run_tier():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tier", choices=tiers.TIERS)
    parser.add_argument("--list", action="store_true", help="only say what is run")
    selection.add_option(parser, "steps of a release")
    options = parser.parse_args()
    steps = tiers.TIERS[options.tier]
    if options.tier == "release":
        steps = selection.chosen(options, steps, lambda step: step.name)
        # It is not for what they choose from.
        os.environ.pop("K", None)
    if options.list:
        print("\n".join(f"make {step.name}" for step in steps))
        return 0

    folder = BUILD / options.tier
    folder.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    built_before = any(BUILD.glob("x86_64-*"))
    try:
        outcomes = Both(steps, folder).run() if options.tier == "ci" \
            else run_release(steps, folder, Released())
    except BaseException:
        for make in list(RUNNING):
            tools.end(make)
        raise
    if options.tier == "ci":
        write_times(folder / "times.json", steps, outcomes, built_before)
    text = "\n".join(summary(steps, outcomes)) + "\n"
    (folder / "summary.md").write_text(text, encoding="utf-8")
    for line in failures(steps, outcomes, folder):
        print(line)
    print(f"\n{text}\nwritten: {shown(folder / 'summary.md')}")
    print(f"time: {minutes(time.monotonic() - start)} (min:s)")
    passed = sum(outcome.passed for outcome in outcomes.values())
    failed = sum(outcome.failed for outcome in outcomes.values())
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    main(run_tier)
