# SPDX-License-Identifier: GPL-2.0
"""Shows that scripts/silent_conflicts.py finds what a rebase has to look at, and no more."""

import importlib.util

import pytest

from harness.common import ROOT
from tests.harness import repository

SCRIPT = ROOT / "scripts/silent_conflicts.py"
BASE = '''/* Which one is next */
static int next_id(int id)
{
	return id + 1;
}

unsigned long shrink_slab(int nid)
{
	return nid;
}
'''
# What the series makes of it.
SERIES = BASE.replace("/* Which", "#ifndef CONFIG_MEMCG_SHRINKER_RUST\n/* Which").replace(
    "}\n\nunsigned", "}\n#endif\n\nunsigned")
RELIED = {"mm/shrinker.c": ("shrink_slab",)}
# A newer kernel, and what is to be looked at.
CASES = {
    "nothing changes": (BASE, ()),
    "a comment and white space": (BASE.replace("Which one", "Who").replace("id + 1", "id  +  1"),
                                  ()),
    "a twin": (BASE.replace("id + 1", "id + 2"), ("mm/shrinker.c: next_id() changed",)),
    "a twin that is gone": (BASE.replace("next_id", "succ_id"),
                            ("mm/shrinker.c: next_id() is gone",)),
    "what Rust relies on": (BASE.replace("return nid", "return 2 * nid"),
                            ("mm/shrinker.c: shrink_slab() changed",)),
    "a new user": (BASE + "\n\tlist_add(&info->shrinklist, head);\n",
                   ("mm/shrinker.c:12: list_add(&info->shrinklist, head);",)),
    "a word in a comment": (BASE + "\n/* No shrinklist is here. */\n", ()),
}


@pytest.fixture(name="script")
def loaded(monkeypatch):
    spec = importlib.util.spec_from_file_location("silent_conflicts", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "RELIED", RELIED)
    return module


def commit(folder, name, text):
    """On a branch of its own, beside those that are there."""
    repository.git(folder, "checkout", "-q", "--orphan", name)
    repository.write(folder, {"mm/shrinker.c": text})
    repository.commit(folder, name)


@pytest.fixture(name="listed")
def run(script, tmp_path, capsys, monkeypatch):
    """What the script prints of a kernel: the lines of its lists, and their number as it says."""
    def of_kernel(new, series=SERIES):
        repository.git(tmp_path, "init", "-q")
        for name, text in (("base", BASE), ("new", new), ("series", series)):
            commit(tmp_path, name, text)
        monkeypatch.setattr("sys.argv", [SCRIPT.name, str(tmp_path), "base", "new", "series"])
        script.report()
        *lines, last = capsys.readouterr().out.splitlines()
        return tuple(line.strip() for line in lines if line.startswith("    ")), last

    return of_kernel


@pytest.mark.parametrize("case", CASES)
def test_listed(case, listed):
    new, expected = CASES[case]
    assert listed(new) == (expected, f"to be looked at: {len(expected)}")


def test_no_series(listed):
    with pytest.raises(SystemExit, match="is it the series"):
        listed(BASE, series=BASE)


def test_wrong_table(script, listed, monkeypatch):
    monkeypatch.setattr(script, "RELIED", {"mm/shrinker.c": ("shrink_all",)})
    with pytest.raises(SystemExit, match="correct RELIED"):
        listed(BASE)
