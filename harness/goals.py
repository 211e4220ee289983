# SPDX-License-Identifier: GPL-2.0
"""What is expected of the rust arm against stock, and whether it is so.

Some goals are about bytes, calls and instructions, which are the same in each
run: these decide whether a bench fails, by the worst of their rounds. Times are
reported only. How far two runs of one kernel differ is measured in the same run,
by the arm "again", which is stock once more: what is less than that is noise.
"""

# Of maps, for each group that had one object: a unit, and a table on each node.
GROUP_KIB = 2.1
# Whole slabs are counted: of two caches, each CPU of a guest may have one that is
# nearly empty, of 16 KiB.
SLABS_KIB = 64
# In C each group has a KiB for every 64 mounts, here the 2 KiB.
MAPS_SHARE = 130
MET, NOISE, MISSED, UNKNOWN = "met", "within noise", "missed", "not measured"


def verdict(found, met):
    return UNKNOWN if found is None else MET if met else MISSED


def factor(value):
    """Three digits, and no exponent where a ratio is large."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def spread_text(found, unit):
    return f"{factor(found['median'])} {unit} " \
           f"({factor(found['min'])} to {factor(found['max'])})"


def times(ratio, word):
    return "-" if ratio is None else spread_text(ratio, f"times {word}")


def ratio_goal(table, at, text, metric, least, word, arm="rust", decides=False):
    """Stock's figure is at least `least` times that of rust, at this size."""
    ratio = table.ratio("stock", arm, at, metric)
    value = ratio and ratio["min" if decides else "median"]
    return {"goal": text, "found": times(ratio, word), "decides": decides,
            "verdict": verdict(ratio, ratio and value >= least)}


def at_most(table, at, text, metric, most, unit, arm="rust"):
    """A goal for one arm alone, which decides."""
    found = table.spread(arm, at, metric)
    return {"goal": f"{text}: at most {most:g} {unit}", "decides": True,
            "found": "-" if found is None else spread_text(found, unit),
            "verdict": verdict(found, found and found["max"] <= most)}


def at_least(table, at, text, metric, least, arm="rust"):
    """Of what must have been at work, or done; it decides."""
    found = table.spread(arm, at, metric)
    return {"goal": text, "decides": True,
            "found": "-" if not found else f"{found['min']:g} to {found['max']:g}",
            "verdict": verdict(found, found and found["min"] >= least)}


def no_more(table, at, text, metric, unit, arm="rust"):
    """Not more than on stock. What else goes on in a guest adds to counts, so the
    least of each arm is what they are."""
    ours, stock = (table.spread(name, at, metric) for name in (arm, "stock"))
    both = ours and stock
    return {"goal": f"{text}: no more than on stock", "decides": True,
            "found": f"{ours['min']:.0f} {unit}, {stock['min']:.0f} on stock"
                     if both else "-",
            "verdict": verdict(both or None, both and
                               ours["min"] <= stock["min"])}


def maps(table, at, text, least):
    """Rust's maps may take nothing at all, and have no ratio then."""
    goal = ratio_goal(table, at, text, "maps", least, "smaller", decides=True)
    stock = table.spread("stock", at, "maps")
    rust = table.spread("rust", at, "maps")
    if stock and rust and rust["max"] <= 0 < stock["min"]:
        goal["found"] = f"{rust['median']:.2f} MiB against {stock['median']:.1f}"
        goal["verdict"] = MET
    return goal


def maps_by_size(table, at, n):
    """The goals for maps of N groups with N mounts."""
    return [maps(table, at, f"{at}: memory for shrinker maps at least N/"
                 f"{MAPS_SHARE} times smaller", n / MAPS_SHARE),
            at_most(table, at, f"{at}: memory for shrinker maps", "maps",
                    round((n * GROUP_KIB + SLABS_KIB) / 1024, 3), "MiB")]


def noisy(value, limit, noise):
    """The verdict on a time that should be at most `limit`. `noise` is how many
    times two runs of one kernel differ, or None."""
    if value is None:
        return UNKNOWN
    if value <= limit:
        return MET
    if noise is None:
        return f"{MISSED}, or noise"
    return NOISE if value <= limit * noise else MISSED


def noise_text(noise):
    return "" if noise is None else f"; noise: {factor(noise)} times"


def not_slower(table, at, text, metric, word="the time of stock", arm="rust",
               limit=1.0):
    """At most `limit` times that of stock, which noise may add to."""
    ratio, noise = table.ratio(arm, "stock", at, metric), table.noise(at, metric)
    return {"goal": text, "decides": False,
            "found": times(ratio, word) + noise_text(noise),
            "verdict": noisy(ratio and ratio["median"], limit, noise)}


def deciding(found, choice, compared):
    """The goals that decide. Where not all arms that they compare were chosen, that is
    none of them."""
    if not set(compared) <= {arm.name for arm in choice}:
        return []
    return [goal for goal in found if goal["decides"]]
