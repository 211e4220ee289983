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


def goal(text, figure, found, met, decides=True):
    """`figure` is what is judged, or None if it was not measured; `found` and `met` say of it
    how it is shown, and whether it is as expected."""
    return {"goal": text, "decides": decides, "found": "-" if figure is None else found(figure),
            "verdict": verdict(figure, figure is not None and met(figure))}


def within(table, text, one, other, limit):
    """Of medians, each of an arm, where it was measured, and a metric. Reported only."""
    found = [table.spread(*each) for each in (one, other)]
    times = found[0]["median"] / found[1]["median"] \
        if all(each and each["median"] for each in found) else None
    return goal(text, times, lambda times: f"{times:.3g} times", lambda times: times <= limit,
                decides=False)


def ratio_goal(table, at, text, metric, least, word, arm="rust", decides=False):
    """Stock's figure is at least `least` times that of rust, at this size."""
    return goal(text, table.ratio("stock", arm, at, metric),
                lambda ratio: spread_text(ratio, f"times {word}"),
                lambda ratio: ratio["min" if decides else "median"] >= least, decides)


def at_most(table, at, text, metric, most, unit, arm="rust"):
    """A goal for one arm alone, which decides."""
    return goal(f"{text}: at most {most:g} {unit}", table.spread(arm, at, metric),
                lambda spread: spread_text(spread, unit), lambda spread: spread["max"] <= most)


def at_least(table, at, text, metric, least, arm="rust"):
    """Of what must have been at work, or done; it decides."""
    return goal(text, table.spread(arm, at, metric),
                lambda spread: f"{spread['min']:g} to {spread['max']:g}",
                lambda spread: spread["min"] >= least)


def no_kills(table, at, left_out=()):
    """Nobody is killed for want of memory, in any arm that was not left out."""
    return [at_most(table, at, f"{at}: processes killed, {arm}", "oom_kills", 0, "of them", arm)
            for arm in table.arms if arm not in left_out]


def no_more(table, at, text, metric, unit, arm="rust"):
    """Not more than on stock. What else goes on in a guest adds to counts, so the
    least of each arm is what they are."""
    both = [table.spread(name, at, metric) for name in (arm, "stock")]
    return goal(f"{text}: no more than on stock", both if all(both) else None,
                lambda both: f"{both[0]['min']:.0f} {unit}, {both[1]['min']:.0f} on stock",
                lambda both: both[0]["min"] <= both[1]["min"])


def maps(table, at, text, least):
    """Rust's maps may take nothing at all, and have no ratio then."""
    stock, rust = (table.spread(arm, at, "maps") for arm in ("stock", "rust"))
    if stock and rust and rust["max"] <= 0 < stock["min"]:
        return goal(text, rust, lambda _: f"{rust['median']:.2f} MiB against "
                    f"{stock['median']:.1f}", lambda _: True)
    return ratio_goal(table, at, text, "maps", least, "smaller", decides=True)


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


def time_goal(text, spread, unit, limit, noise):
    """It is reported only."""
    return {"goal": text, "decides": False,
            "found": "-" if spread is None else spread_text(spread, unit) + noise_text(noise),
            "verdict": noisy(spread and spread["median"], limit, noise)}


def not_slower(table, at, text, metric, word="the time of stock", arm="rust",
               limit=1.0):
    """At most `limit` times that of stock, which noise may add to."""
    return time_goal(text, table.ratio(arm, "stock", at, metric), f"times {word}", limit,
                     table.noise(at, metric))


def below(table, at, text, metric, limit, unit, arm="rust"):
    """A goal for a time, or what depends on it, of one arm alone."""
    return time_goal(f"{text}: at most {limit:g} {unit}", table.spread(arm, at, metric), unit,
                     limit, table.noise(at, metric))


def deciding(found, choice, compared):
    """The goals that decide. Where not all arms that they compare were chosen, that is
    none of them."""
    if not set(compared) <= {arm.name for arm in choice}:
        return []
    return [goal for goal in found if goal["decides"]]
