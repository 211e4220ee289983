# SPDX-License-Identifier: GPL-2.0
"""That calls between the files of the selftest go one way, as its headers say."""

import graphlib
import pathlib
import re

FOLDER = (pathlib.Path(__file__).resolve().parents[2] /
          "tools/testing/selftests/mm_reclaim")
# At the left margin, and without the semicolon of a declaration.
DEFINITION = re.compile(
    r"^(?!static\b)\w[\w \t*]*?\b(bench_\w+)(?:\([^;{]*\)\s*\{| =)", re.M)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def sources(suffix):
    return {path.name: COMMENT.sub("", path.read_text(encoding="ascii"))
            for path in FOLDER.glob(f"*{suffix}")}


def owners(files):
    """The file in which each name is defined."""
    return {name: file for file, text in files.items()
            for name in DEFINITION.findall(text)}


def test_no_circle_of_calls():
    files = sources(".c")
    where = owners(files)
    uses = {file: {where[name] for name in re.findall(r"\bbench_\w+", text)
                   if name in where} - {file} for file, text in files.items()}
    # Raises an error that names the files of a circle.
    order = list(graphlib.TopologicalSorter(uses).static_order())
    assert order[0] == "common.c"
    assert order[-1] == "memcg_shrinker_bench.c"


def test_each_declared_function_is_found():
    """Else the test above would not see its calls."""
    declared = set()
    for text in sources(".h").values():
        declared.update(re.findall(r"\b(bench_\w+)\(", text))
    assert declared
    assert declared <= set(owners(sources(".c")))


def test_headers_include_only_lower_layers():
    includes = {file: set(re.findall(r'#include "(\w+\.h)"', text)) - {"kselftest.h"}
                for file, text in sources(".h").items()}
    assert includes == {
        "common.h": set(), "result.h": {"common.h"}, "kernel.h": {"result.h"},
        "workload.h": {"result.h"}, "scenario.h": {"kernel.h", "workload.h"},
        "main.h": {"scenario.h"}}


def test_results_go_through_one_file():
    """kselftest.h counts them for each file that includes it."""
    files = [file for file, text in sources(".c").items()
             if re.search(r"\bksft_\w+\(", text)]
    assert files == ["common.c"]
