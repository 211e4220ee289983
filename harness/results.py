# SPDX-License-Identifier: GPL-2.0
"""What a run found: in JSON, as JUnit, as Markdown, and as a page for a browser.

All runs have the same keys, and benches have those of their figures beside them:

	schema, tool	of this file, and what ran
	date, revision	when, and of which commit
	uncommitted	files that differed from it
	options		of the command line
	kernels		by name: what they are for, and the digests of their images
	checks		name, verdict (passed, failed or skipped), text, seconds, and the
			console of the guest, relative to this file
	goals		what is expected of the figures: goal, found, verdict, decides
	doubts		what may make the figures mean something else
	skipped		what was not run, and why
	tables		by name, as docs/figures/ has them
	sections	of the report: title, what is to be known, and names of tables
	results		the samples: what each guest said

As a program, for shell, it reads lines of a verdict, a tab and a name:

	python3 -m harness.results TOOL
"""

import dataclasses
import datetime
import functools
import hashlib
import os
import sys
import xml.etree.ElementTree as ET

from harness import page, report, revision
from harness.common import LOGS, OUT, record, shown, write_json

SCHEMA = 1
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclasses.dataclass
class Check:
    """One of the things that can fail."""
    name: str
    verdict: str
    text: str = ""
    seconds: float = 0
    console: str = ""


@functools.cache
def digest(path):
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except OSError:
        return None


class Run:
    """One run of a program."""

    def __init__(self, tool, kernels=()):
        self.tool = tool
        self.checks = []
        self.head = {
            "schema": SCHEMA, "tool": tool,
            "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "revision": revision.described(), "uncommitted": revision.uncommitted(),
            "options": sys.argv[1:], "kernels": {}}
        self.add_kernels(kernels)

    def add_kernels(self, kernels):
        """That it is about."""
        self.head["kernels"].update(
            (kernel.name, {"about": kernel.about, "image": digest(kernel.image)})
            for kernel in kernels)

    def check(self, name, wrong=None, text="", seconds=0.0, log=None):
        """Something that was judged; `log` is the name of its guest's console."""
        console = os.path.relpath(LOGS / f"{log}.log", OUT) if log else ""
        self.checks.append(Check(name, FAILED if wrong else PASSED,
                                 str(wrong or text), round(seconds, 1), console))

    def skip(self, name, why):
        self.checks.append(Check(name, SKIPPED, why))

    def count(self, verdict):
        return sum(check.verdict == verdict for check in self.checks)

    @property
    def path(self):
        return OUT / f"{self.tool}.json"

    def save(self, content):
        """What is known so far. Returns it."""
        content = {**self.head, **content,
                   "checks": [dataclasses.asdict(check) for check in self.checks]}
        write_json(self.path, content)
        return content

    def publish(self, content=None, plots=()):
        """Writes all files, and counts for the total of several runs."""
        content = self.save(content or {})
        for suffix, text in ((".md", markdown(content)), (".xml", junit(content)),
                             (".html", page.page(content, plots))):
            self.path.with_suffix(suffix).write_text(text, encoding="utf-8")
        record(self.tool, self.count(PASSED), self.count(FAILED))
        print(f"written: {shown(self.path)}, and .md, .xml (JUnit) and .html beside it")

    def conclude(self, note=""):
        """The end of a program that only checks. Returns its exit status."""
        self.publish()
        print(f"{self.count(PASSED)} passed, {self.count(FAILED)} failed"
              f"{note and '; '}{note}")
        return 1 if self.count(FAILED) else 0


def markdown(content):
    """The report of a bench; or else the checks, with what failed first."""
    if "sections" in content:
        return report.text(content)
    return report.markdown(["check", "verdict", "s"], [
        [check["name"].replace("|", "\\|"), check["verdict"], f"{check['seconds']:g}"]
        for check in sorted(content["checks"],
                            key=lambda check: check["verdict"] != FAILED)]) + "\n"


def printable(text):
    """XML has no other control characters than these."""
    return "".join(c for c in text if c in "\t\n\r" or ord(c) >= 32)


def junit(content):
    checks = content["checks"]
    suite = ET.Element("testsuite", name=content["tool"], tests=str(len(checks)), **{
        kind: str(sum(check["verdict"] == verdict for check in checks))
        for kind, verdict in (("failures", FAILED), ("skipped", SKIPPED))},
        time=str(sum(check["seconds"] for check in checks)))
    for check in checks:
        case = ET.SubElement(suite, "testcase", classname=content["tool"],
                             name=printable(check["name"]), time=str(check["seconds"]))
        text = printable(check["text"])
        if check["verdict"] == FAILED:
            first = text.splitlines()[0] if text else ""
            ET.SubElement(case, "failure", message=first).text = text
        elif check["verdict"] == SKIPPED:
            ET.SubElement(case, "skipped", message=text)
        if check["console"]:
            ET.SubElement(case, "system-out").text = f"console: {check['console']}"
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def main():
    run = Run(sys.argv.pop(1))
    for line in sys.stdin:
        verdict, _, name = line.rstrip("\n").partition("\t")
        run.check(name, None if verdict == PASSED else verdict)
    run.publish()


if __name__ == "__main__":
    main()
