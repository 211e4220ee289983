# SPDX-License-Identifier: GPL-2.0
"""Whether docs/dashboard/mm_reclaim.json names metrics that there are. What Prometheus makes
of it, `make dashboard` shows."""

import json
import re

import pytest

from harness.common import BUILD, ROOT

PANELS = json.loads((ROOT / "docs/dashboard/mm_reclaim.json").read_text())["panels"]
EXPRESSIONS = [target["expr"] for panel in PANELS for target in panel["targets"]]
# What node_exporter and memcg_shrinker_maps.py have beside /proc/vmstat.
OTHERS = {"node_memory_SUnreclaim_bytes", "node_cpu_seconds_total",
          "node_pressure_memory_waiting_seconds_total", "memcg_shrinker_map_bytes"}
VMSTAT = "node_vmstat_"


def named(expression):
    return set(re.findall(r"\b(?:node|memcg)_\w+", expression)) - OTHERS


@pytest.fixture(name="counted", scope="module")
def names_of_vmstat():
    """From the kernel's source with the series; of each zone there is one, by a macro."""
    text = (BUILD / "linux/mm/vmstat.c").read_text()
    of_zones = re.findall(r'TEXTS_FOR_ZONES\(.*, "(\w+)"\)', text)
    return set(re.findall(r'= "(\w+)",', text)) | {
        f"{name}_{zone}" for name in of_zones for zone in ("normal", "movable")}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_metrics_are_there(expression, counted):
    assert re.search(r"\b(?:node|memcg)_\w+", expression)
    for name in named(expression):
        assert name.removeprefix(VMSTAT) in counted, name


def test_node_exporter_collects_them():
    """As canary.md has it set up."""
    collected = re.search(r"--collector.vmstat.fields='(.*)'",
                          (ROOT / "docs/canary.md").read_text())[1]
    for expression in EXPRESSIONS:
        for name in named(expression):
            assert re.match(collected, name.removeprefix(VMSTAT)), name


def test_panels_have_places_of_their_own():
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    assert len({(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in PANELS}) == len(PANELS)
