# SPDX-License-Identifier: GPL-2.0
"""Runs the tests of a folder with pytest, as a check: tests/NAME/test_*.py.

Most of them test the harness or tools, and are quick. Those that start guests take the
fixture `case`, one of what cases(options) of their file returns, by name, and the fixture
`step`. They have the name of their case, are shown one by one with an estimate of the time
left, fail by BenchError, and may be several checks. add_options(parser) of such a file adds
to the command line. Options that are not known here are pytest's.
"""

import argparse
import importlib
import os
import signal
import sys

from harness import arms, qemu, results, selection
from harness.common import LOGS, ROOT, BenchError, Unexpected, main, shown
from harness.progress import Progress

try:
    import pytest
except ModuleNotFoundError:
    # It may be there for the system's Python only.
    if sys.executable == "/usr/bin/python3":
        sys.exit("pytest is not installed: run 'make deps'")
    os.execv("/usr/bin/python3", ["/usr/bin/python3", ROOT / "tests/run", *sys.orig_argv[2:]])

# What is not about guests, and what its results are called.
QUICK_ONES = {"harness": "harness", "tools": "tools-check", "mutants_check": "mutants-check"}


class Step:
    """A test of a guest, as it is shown and kept."""

    def __init__(self, run):
        self.run = run
        self.log = None     # the name of its console
        self.said = "ok"    # when it is done
        self.text = ""      # beside its verdict
        self.lines = []     # that are shown after that
        self.is_several, self.wrong = False, []

    def uses(self, *users):
        """Arms that must have been built."""
        qemu.check()
        arms.check_images(users)
        self.run.add_kernels(arm.kernel for arm in users)

    def check(self, name, wrong=None, text="", seconds=0.0):
        """One of several that the test is."""
        self.is_several = True
        self.wrong += [f"FAIL {name}: {wrong}"] if wrong else []
        self.run.check(name, wrong, text, seconds, self.log)


def name_of(item):
    return item.callspec.id if "step" in item.fixturenames else \
        f"{item.path.stem}: {item.name}"


class Plugin:
    """Makes a run of what pytest finds."""

    def __init__(self, run, options):
        self.run, self.parsed = run, options
        self.names, self.progress, self.current, self.wrong = {}, None, None, None

    @pytest.fixture
    def step(self):
        return self.current

    @pytest.fixture(scope="session")
    def options(self):
        return self.parsed

    def pytest_generate_tests(self, metafunc):
        if "step" in metafunc.fixturenames:
            try:
                cases = metafunc.module.cases(self.parsed)
            except BenchError as error:
                self.wrong, cases = error, {}
            metafunc.parametrize("case", cases.values(), ids=cases)

    def pytest_collection_modifyitems(self, items):
        try:
            if items and not self.wrong:
                items[:] = selection.chosen(self.parsed, items, name_of)
        except BenchError as error:
            self.wrong = error
        if self.wrong:
            items.clear()
        self.names = {item.nodeid: name_of(item) for item in items}
        if self.run.tool not in QUICK_ONES.values():
            self.progress = Progress(self.run.tool, self.names.values())

    def pytest_runtest_logstart(self, nodeid):
        self.current = Step(self.run)
        if self.progress:
            self.progress.next(self.names[nodeid])

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, call):
        report = yield
        if call.excinfo and call.excinfo.errisinstance(BenchError):
            # Something that needs no traceback.
            wrong, log = call.excinfo.value, self.current.log
            where = f", see {shown(LOGS / log)}.log" if log and isinstance(wrong, Unexpected) \
                else ""
            report.get_result().longrepr = f"{wrong}{where}"

    @staticmethod
    def said(report):
        """Why a test failed: what was raised, and then where. What quotes a log of a run
        has room for a line."""
        crash = getattr(report.longrepr, "reprcrash", None)
        return f"{crash.message}\n{report.longreprtext}" if crash else report.longreprtext

    def pytest_runtest_logreport(self, report):
        name, step = self.names[report.nodeid], self.current
        if report.skipped:
            self.run.skip(name, report.longrepr[2])
        elif report.failed or (report.when == "call" and not step.is_several):
            self.run.check(name, report.failed and self.said(report), step.text,
                           report.duration, step.log)
        if self.progress and (report.when == "call" or not report.passed):
            self.progress.done(f"FAIL: {self.said(report)}" if report.failed else
                               report.longrepr[2] if report.skipped else step.said,
                               report.passed and not step.wrong)
            for line in step.wrong + step.lines:
                print(f"    {line}")

    def pytest_collectreport(self, report):
        if report.failed:
            print(report.longreprtext)
            self.run.check(report.nodeid, report.longreprtext)


def judge(tool, folder, options, *arguments):
    """Runs the tests of a folder, and returns the exit status. `arguments` are pytest's."""
    is_quick = tool in QUICK_ONES.values()
    plugin = Plugin(results.Run(tool), options)
    # Nothing from outside chooses what is run.
    os.environ.pop("PYTEST_ADDOPTS", None)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    status = pytest.main(
        [*(["-q"] if is_quick else ["-s", "-p", "no:terminal"]), "-c", os.devnull,
         "-p", "no:cacheprovider", "--import-mode=importlib", f"--rootdir={ROOT}",
         "--continue-on-collection-errors",
         *arguments, str(folder)], [plugin])
    if status == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if plugin.wrong:
        raise plugin.wrong
    found = plugin.run
    if not found.count(results.PASSED) and not found.count(results.FAILED):
        found.check("pytest", "nothing was run")
    if status and not found.count(results.FAILED):
        found.check("pytest", f"ended with status {status}")
    # What counts may be part of what is tested: pytest has the last word.
    has_consoles = any(check.console for check in found.checks)
    return found.conclude(f"consoles: {shown(LOGS)}/" if has_consoles else "") or status


def module_of(name):
    return importlib.import_module(f"tests.{name}.test_{name}")


def parse(name, words=None):
    """The options of a check in these words, or else of this program's, and those that are
    pytest's."""
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter)
    if name not in QUICK_ONES:
        parser.description = module_of(name).__doc__
        getattr(module_of(name), "add_options", lambda parser: None)(parser)
    selection.add_option(parser, "checks")
    return parser.parse_known_args(words)


def run():
    """The main function of such a check, whose name tests/run gives."""
    name = sys.argv[0].split()[-1]
    options, others = parse(name)
    # SystemExit would end one test only.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    tool = QUICK_ONES.get(name, name.replace("_", "-"))
    return judge(tool, ROOT / "tests" / name, options, *others)


if __name__ == "__main__":
    main(run)
