# SPDX-License-Identifier: GPL-2.0
"""A run as one page of HTML, which needs no other file but the consoles it links to:
what failed, what is in doubt and what became slower come first."""

import html
import re

from harness.report import describe_host, shown

STYLE = """\
body { font: 15px/1.45 sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse; margin: 1em 0 }
td, th { border: 1px solid #ccc; padding: .2em .6em; text-align: left }
td + td, th + th { text-align: right }
.bad { color: #a00 } .good { color: #060 }
pre { white-space: pre-wrap; background: #f6f6f6; padding: .5em }
svg { max-width: 100%; height: auto }
"""
CODE = re.compile(r"`([^`]*)`")
# Of goals that do not decide whether a run fails.
WORSE = "missed"


def text(said):
    return CODE.sub(r"<code>\1</code>", html.escape(str(said)))


def listed(title, lines, kind="bad"):
    lines = list(lines)
    if not lines:
        return
    yield f"<h2 class={kind}>{title}</h2>"
    yield "<ul>"
    yield from (f"<li>{line}</li>" for line in lines)
    yield "</ul>"


def of_check(check):
    """A check that failed: the console is where the reason is."""
    first, _, rest = check["text"].partition("\n")
    link = ""
    if check["console"]:
        link = f" (<a href=\"{html.escape(check['console'])}\">console</a>)"
    more = f"<pre>{html.escape(rest)}</pre>" if rest else ""
    return f"<b>{text(check['name'])}</b>: {text(first)}{link}{more}"


def goals_of(content):
    """A bench with scenarios has goals for each of them."""
    yield from content.get("goals", ())
    for scenario in content.get("scenarios", {}).values():
        yield from scenario["goals"]


def of_table(columns, rows):
    yield "<table>"
    for kind, row in (("th", columns), *(("td", row) for row in rows)):
        yield "<tr>" + "".join(f"<{kind}>{text(shown(cell))}</{kind}>" for cell in row) + "</tr>"
    yield "</table>"


def of_sections(content):
    if "sections" in content:
        yield f"<p>{text(describe_host(content['machine']))}</p>"
    for each in content.get("sections", ()):
        if each["title"]:
            yield f"<h3>{text(each['title'])}</h3>"
        yield f"<p>{text(each['about'])}</p>"
        for name in each["tables"]:
            yield from of_table(**content["tables"][name])


def of_checks(checks):
    if not checks:
        return
    yield "<h2>All checks</h2><table><tr><th>check</th><th>verdict</th><th>s</th></tr>"
    for check in checks:
        name = text(check["name"])
        if check["console"]:
            name = f"<a href=\"{html.escape(check['console'])}\">{name}</a>"
        kind = "bad" if check["verdict"] == "failed" else "good"
        yield (f"<tr><td>{name}</td><td class={kind}>{check['verdict']}</td>"
               f"<td>{check['seconds']:g}</td></tr>")
    yield "</table>"


def of_guests(results):
    """Where each of them said what it measured."""
    consoles = [result["console"] for result in results if result.get("console")]
    if not consoles:
        return
    yield "<h2>Consoles</h2>"
    yield "<p>" + ", ".join(
        f"<a href=\"{html.escape(path)}\">{html.escape(path.rpartition('/')[2])}</a>"
        for path in consoles) + "</p>"


def head(content):
    checks = content["checks"]
    failed = [check for check in checks if check["verdict"] == "failed"]
    passed = sum(check["verdict"] == "passed" for check in checks)
    yield f"<h1>{text(content['tool'])}</h1>"
    yield (f"<p>{text(content['date'])}, revision {text(content['revision'])}"
           + (f", with changes in {text(', '.join(content['uncommitted']))}"
              if content["uncommitted"] else "")
           + (f"; options: {text(' '.join(content['options']))}"
              if content["options"] else "") + "</p>")
    kind = "bad" if failed else "good"
    yield (f"<p class={kind}><b>{passed} passed, {len(failed)} "
           "failed</b></p>")
    yield from listed("Failed", map(of_check, failed))
    yield from listed("Failed guests", map(text, content.get("failed", ())))
    yield from listed("In doubt", map(text, content.get("doubts", ())))
    yield from listed("Worse than expected, and reported only", (
        f"{text(goal['goal'])}: {text(goal['verdict'])}, found {text(goal['found'])}"
        for goal in goals_of(content)
        if not goal["decides"] and goal["verdict"].startswith(WORSE)))
    yield from listed("Not run", map(text, content.get("skipped", ())), "note")


def page(content, plots=()):
    """`plots` are files of SVG."""
    parts = [f"<!DOCTYPE html><meta charset=utf-8><title>{text(content['tool'])}"
             f"</title><style>{STYLE}</style>", *head(content), *of_sections(content)]
    for plot in plots:
        svg = plot.read_text(encoding="utf-8")
        parts.append(f"<h2>{text(plot.stem)}</h2>" + svg[svg.index("<svg"):])
    return "\n".join([*parts, *of_checks(content["checks"]),
                      *of_guests(content.get("results", ()))]) + "\n"
