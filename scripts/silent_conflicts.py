#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Lists what conflicts with the series though it applies.

    silent_conflicts.py REPOSITORY BASE NEW SERIES

compares the kernel that the series is for, BASE, with NEW: lines that newly use what the
series makes assumptions about, and changed functions whose twins are in Rust, or on which
these rely. Twins are found where SERIES leaves code to CONFIG_MEMCG_SHRINKER_RUST=n.
"""

import argparse
import re
import subprocess
import sys

OPTION = "CONFIG_MEMCG_SHRINKER_RUST"
# What the series assumes of each use, by a word that a line has.
USES = {
    r"\bSHRINKER_MEMCG_AWARE\b":
        "a memcg-aware shrinker: the root calls it only while its bit is set",
    r"\bmem_cgroup_iter(_break)?\s*\(":
        "a walk of the hierarchy: may it skip groups, and what does it hold?",
    r"\b(memcg_list_lru_alloc|(__)?list_lru_add(_obj|_irq)?)\s*\(":
        "an object on a list: was memcg_list_lru_alloc_obj() called for it?",
    r"\bshrinklist\b":
        "objects outside of list_lru, which set no bit by themselves",
}
# Functions of C that Rust calls, is called by, or argues with; by file.
RELIED = {
    "fs/super.c": ("super_cache_count", "super_cache_scan"),
    "mm/list_lru.c": ("__list_lru_add", "lock_list_lru_of_memcg", "__memcg_list_lru_alloc",
                      "memcg_reparent_list_lru_one", "memcg_reparent_list_lrus"),
    "mm/memcontrol.c": ("mem_cgroup_css_online", "mem_cgroup_css_offline",
                        "mem_cgroup_css_free", "mem_cgroup_calculate_protection",
                        "__memcg_slab_post_alloc_hook"),
    "mm/page_counter.c": ("page_counter_calculate_protection",),
    "mm/shrinker.c": ("do_shrink_slab", "shrink_slab"),
    "mm/vmscan.c": ("shrink_node_memcgs", "shrink_many", "shrink_one", "lru_gen_age_node",
                    "drop_slab"),
    "mm/zswap.c": ("zswap_store_page", "zswap_lru_add"),
}
CONDITION = re.compile(r"#\s*(ifn?def|if|else|elif|endif)\b\s*(.*)")
# A definition begins in the first column and has no semicolon before its body.
DEFINITION = re.compile(r"^(?!typedef|struct \w+ \{|#|/|\s)[^;{}=]*?\b(\w+)\([^;{}]*\)\s*\{",
                        re.MULTILINE)


class Repository:
    """Files of several commits."""

    def __init__(self, path):
        self.path = path

    def git(self, *arguments):
        return subprocess.run(["git", "-C", self.path, *arguments], check=False,
                              capture_output=True, text=True, errors="replace").stdout

    def text(self, commit, path):
        return self.git("show", f"{commit}:{path}")

    def added(self, base, new):
        """Each line that only `new` has in C and Rust: path, number, text."""
        path, number = "", 0
        for line in self.git("diff", "--no-color", "--no-ext-diff", "--no-renames", "-U0",
                             base, new, "--", "*.c", "*.h", "*.rs").splitlines():
            hunk = re.match(r"@@ -\S+ \+(\d+)", line)
            if line.startswith("+++ "):
                path = line[6:]
            elif hunk:
                number = int(hunk[1])
            elif line.startswith("+"):
                yield path, number, line[1:].strip()
                number += 1


def functions(text):
    """The definitions in a file of C, by name: all that conditions choose from."""
    found = {}
    for match in DEFINITION.finditer(text):
        end = text.find("\n}", match.end())
        body = text[match.start():end if end >= 0 else len(text)]
        found[match[1]] = found.get(match[1], "") + body
    return found


def left_to_c(text):
    """What of a file is compiled without the option only."""
    conditions, kept = [], []
    for line in text.splitlines():
        directive = CONDITION.match(line)
        if directive:
            kind, about = directive[1], directive[2]
            if kind in ("if", "ifdef", "ifndef"):
                own = about.split(" ")[0] == OPTION
                conditions.append({"ifdef": "rust", "ifndef": "c"}.get(kind) if own else None)
            elif kind == "endif":
                conditions.pop()
            elif conditions[-1]:
                conditions[-1] = {"rust": "c", "c": "rust"}[conditions[-1]]
        elif "c" in conditions:
            kept.append(line)
    return "\n".join(kept)


def twins(repository, base, series):
    """Names of functions that the series has in Rust, by file."""
    files = repository.git("grep", "-l", OPTION, series, "--", "*.c", "*.h").splitlines()
    for path in (name.split(":", 1)[1] for name in files):
        before = functions(repository.text(base, path))
        names = [name for name in functions(left_to_c(repository.text(series, path)))
                 if name in before]
        if names:
            yield path, names


def normal(code):
    """Without comments and white space, in which no function changes."""
    return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/|//[^\n]*", "", code or "", flags=re.DOTALL))


def changed(repository, base, new, by_file):
    """What became of functions."""
    for path, names in by_file:
        before = functions(repository.text(base, path))
        after = functions(repository.text(new, path))
        for name in names:
            if name not in before:
                raise SystemExit(f"silent_conflicts.py: {base}:{path} has no {name}(): "
                                 "correct RELIED")
            if name not in after:
                yield f"{path}: {name}() is gone"
            elif normal(before[name]) != normal(after[name]):
                yield f"{path}: {name}() changed"


def report():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("repository", "base", "new", "series"):
        parser.add_argument(name)
    options = parser.parse_args()
    repository, base, new = Repository(options.repository), options.base, options.new
    found = 0

    def show(title, lines):
        nonlocal found
        lines = list(lines)
        print(f"{title}: {len(lines)}")
        for line in lines:
            print(f"    {line}")
        found += len(lines)

    lines = [line for line in repository.added(base, new)
             if not line[2].startswith(("*", "/*", "//"))]
    for pattern, about in USES.items():
        show(about, (f"{path}:{number}: {text}" for path, number, text in lines
                     if re.search(pattern, text)))
    in_rust = list(twins(repository, base, options.series))
    if not in_rust:
        raise SystemExit(f"silent_conflicts.py: nothing in {options.series} is left to C: "
                         "is it the series?")
    count = sum(len(names) for _, names in in_rust)
    show(f"changed functions of C, of {count} that are in Rust",
         changed(repository, base, new, in_rust))
    show("changed functions of C that Rust relies on",
         changed(repository, base, new, RELIED.items()))
    print(f"to be looked at: {found}")
    return 0


if __name__ == "__main__":
    sys.exit(report())
