# SPDX-License-Identifier: GPL-2.0
"""Draws docs/dashboard/mm_reclaim.json, a dashboard for Grafana, with a made-up week of a canary
and its control: Prometheus evaluates what each panel asks for. A panel that gets nothing is an
error.

That the metrics have these names is checked by tests/harness/test_dashboard.py.
"""

import contextlib
import json
import math
import random
import re
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import matplotlib

from harness.common import BUILD, OUT, ROOT, BenchError, main, shown

matplotlib.use("Agg")
from matplotlib import pyplot

DASHBOARD = ROOT / "docs/dashboard/mm_reclaim.json"
PICTURE = ROOT / "docs/dashboard/mm_reclaim.png"
FOLDER = OUT / "dashboard"
PROGRAMS = BUILD / "prometheus"    # see scripts/prometheus
PROMETHEUS, PROMTOOL = PROGRAMS / "prometheus", PROGRAMS / "promtool"
# In s.
STEP, WEEK, DAY, STARTS, ANSWERS = 600, 7 * 86400, 86400, 30, 20
# The same picture from the same week, whenever it is drawn.
END = 1_790_000_000 // DAY * DAY
# What Grafana fills in.
VARIABLES = {"$instance": ".*", "$__rate_interval": f"{4 * STEP}s"}
SCALES = {"bytes": (2 ** 20, "MiB"), "ops": (1, "per second"), "percentunit": (0.01, "%"),
          "short": (1, "")}


def load(moment):
    """Of a day: little at night, most in the afternoon."""
    return 0.6 - 0.4 * math.cos(2 * math.pi * (moment % DAY) / DAY)


def made_up(is_canary, moment, counters, dice):
    """What one host has at this moment: gauges, and counters that go on from `counters`."""
    busy = load(moment) * dice.uniform(0.95, 1.05)
    containers = int(1500 + 500 * load(moment))
    waits = busy * (0.010 if is_canary else 0.016)

    def add(name, value):
        counters[name] = counters.get(name, 0) + value
        return counters[name]

    def of(name, there, comes="alloc", goes="free"):
        """A counter of what comes, and one of what goes."""
        gone = add(f"{name}_{goes}", int(busy * STEP / 10))
        return {f"{name}_{comes}": gone + there, f"{name}_{goes}": gone}

    metrics = {
        "node_cpu_seconds_total": add("cpu", STEP * busy * (0.30 if is_canary else 0.34)),
        "node_pressure_memory_waiting_seconds_total": add("waits", STEP * waits),
        "node_memory_SUnreclaim_bytes": (2 << 30) + containers * (
            110 << 10 if is_canary else 163 << 10),
        "node_vmstat_pgfault": add("faults", int(STEP * busy * 20000)),
        "node_vmstat_allocstall_normal": add("stalls", int(STEP * busy / 5)),
        "node_vmstat_allocstall_movable": add("more", int(STEP * busy * (2 if is_canary else 3))),
        "node_vmstat_oom_kill": add("kills", int(dice.random() < 0.01))}
    if not is_canary:
        return metrics
    events = {
        **of("shrinker_unit", containers * 3), **of("shrinker_table_bytes", containers * 72),
        **of("shrinker_id", containers * 7), **of("shrinker_map", containers, "open", "close"),
        "shrinker_bit_visit": add("visit", int(STEP * busy * 900)),
        "shrinker_bit_spurious": add("spurious", int(STEP * busy * 60)),
        "memcg_uncharged_skip": add("skip", int(STEP * busy * 4000)),
        "gsp_skipped": add("spared", int(STEP * busy * 40)),
        "gsp_override": add("override", int(STEP * max(busy - 0.9, 0) * 10)),
        "retain_kept": add("kept", int(STEP * busy * 3000)),
        "retain_hit": add("hit", int(STEP * busy * 2100)),
        "retain_evicted": add("evicted", int(STEP * busy * 800))}
    return metrics | {f"node_vmstat_{name}": value for name, value in events.items()}


def write_week(path):
    """As OpenMetrics, which wants all samples of a metric together."""
    families = {}
    for instance in ("canary", "control"):
        dice, counters = random.Random(instance), {}
        for moment in range(END - WEEK, END + 1, STEP):
            for name, value in made_up(instance == "canary", moment, counters, dice).items():
                mode = ',mode="system"' if name == "node_cpu_seconds_total" else ""
                families.setdefault(name, []).append(
                    f'{name}{{instance="{instance}"{mode}}} {value} {moment}')
            if instance == "canary":
                families.setdefault("memcg_shrinker_map_bytes", []).extend(
                    f'memcg_shrinker_map_bytes{{instance="canary",cgroup="/pods/{number}"}} '
                    f"{(20 + number * 4 + int(10 * load(moment))) << 10} {moment}"
                    for number in range(5))
    with open(path, "w", encoding="ascii") as file:
        for name, samples in families.items():
            file.write(f"# TYPE {name} unknown\n" + "\n".join(samples) + "\n")
        file.write("# EOF\n")


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


@contextlib.contextmanager
def serving(data):
    """Prometheus on what is in a folder; the block gets its address."""
    config, address = data / "prometheus.yml", f"127.0.0.1:{free_port()}"
    config.write_text("scrape_configs: []\n")
    with open(FOLDER / "prometheus.log", "wb") as log:
        server = subprocess.Popen(
            [PROMETHEUS, f"--config.file={config}", f"--storage.tsdb.path={data}",
             "--storage.tsdb.retention.time=100y", f"--web.listen-address={address}"],
            stdout=log, stderr=log)
        try:
            until = time.monotonic() + STARTS
            while not is_ready(address):
                if server.poll() is not None or time.monotonic() > until:
                    raise BenchError(f"Prometheus does not start, see {shown(FOLDER)}")
                time.sleep(0.2)
            yield address
        finally:
            server.kill()
            server.wait()


# What proxies there are is not for this machine itself.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def is_ready(address):
    try:
        with OPENER.open(f"http://{address}/-/ready", timeout=ANSWERS):
            return True
    except OSError:
        return False


def ask(address, expression):
    """Its series: labels, and pairs of time and value."""
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    query = urllib.parse.urlencode({"query": expression, "start": END - WEEK + DAY // 4,
                                    "end": END, "step": 3 * STEP})
    try:
        with OPENER.open(f"http://{address}/api/v1/query_range?{query}",
                         timeout=ANSWERS) as answer:
            return json.load(answer)["data"]["result"]
    except urllib.error.HTTPError as error:
        raise BenchError(f"{expression}: {error.read().decode(errors='replace')}") from None


def legend(form, labels):
    return re.sub(r"{{(\w+)}}", lambda match: labels.get(match[1], ""), form)


def draw(panel, axes, address):
    """One panel."""
    scale, unit = SCALES[panel["fieldConfig"]["defaults"]["unit"]]
    for target in panel["targets"]:
        series = ask(address, target["expr"])
        if not series:
            raise BenchError(f"\"{panel['title']}\" gets nothing for {target['expr']}")
        for one in series:
            axes.plot([(float(at) - END + WEEK) / DAY for at, _ in one["values"]],
                      [float(value) / scale for _, value in one["values"]],
                      label=legend(target["legendFormat"], one["metric"]), linewidth=1)
    axes.set_title(panel["title"], fontsize=9)
    axes.set_ylabel(unit, fontsize=8)
    axes.set_ylim(bottom=0)
    axes.tick_params(labelsize=7)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=6, loc="lower right")


def render(to):
    """The picture of all panels, in their places."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as name:
        data = FOLDER / name
        write_week(data / "week.om")
        made = subprocess.run([PROMTOOL, "tsdb", "create-blocks-from", "openmetrics",
                               str(data / "week.om"), str(data)],
                              capture_output=True, text=True, check=False, timeout=300)
        if made.returncode:
            raise BenchError(f"{PROMTOOL} does not take the week: {made.stderr[-500:]}")
        rows = max(panel["gridPos"]["y"] for panel in panels) // 8 + 1
        figure, axes = pyplot.subplots(rows, 2, figsize=(11, 2.3 * rows), squeeze=False)
        with serving(data) as address:
            for panel in panels:
                place = panel["gridPos"]
                draw(panel, axes[place["y"] // 8][place["x"] // 12], address)
    figure.supxlabel("days, made up", fontsize=8)
    figure.tight_layout()
    figure.savefig(to, dpi=90, metadata={"Software": None})


def run():
    render(PICTURE)
    print(f"drawn: {shown(PICTURE)}")


if __name__ == "__main__":
    main(run)
