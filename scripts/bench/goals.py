# SPDX-License-Identifier: GPL-2.0
"""What is expected of the rust arm against stock, and whether it is so."""

N = 4000
# Two runs of the same kernel differ by a few percent.
NOISE = 1.05
LINEAR = 1.3  # a slope of 2 is quadratic


def verdict(found, met):
    return "not measured" if found is None else "met" if met else "missed"


def factor(value):
    """Three digits, and no exponent where a ratio is large."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def times(ratio, word):
    if ratio is None:
        return "-"
    return (f"{factor(ratio['median'])} times {word} "
            f"({factor(ratio['min'])} to {factor(ratio['max'])})")


def ratio_goal(table, at, text, metric, least, word, arm="rust"):
    """Stock's figure is at least `least` times that of rust, at this size."""
    ratio = table.ratio("stock", arm, at, metric)
    return {"goal": text, "found": times(ratio, word),
            "verdict": verdict(ratio, ratio and ratio["median"] >= least)}


def at_least(table, name, metric, least, word):
    return ratio_goal(table, N,
                      f"N = {N}: {name} at least {least} times {word}",
                      metric, least, word)


def maps(table, at, text, least):
    """Rust's maps may take nothing at all, and have no ratio then."""
    goal = ratio_goal(table, at, text, "maps", least, "smaller")
    stock = table.spread("stock", at, "maps")
    rust = table.spread("rust", at, "maps")
    if stock and rust and rust["median"] <= 0 < stock["median"]:
        goal["found"] = f"{rust['median']:.2f} MiB against {stock['median']:.1f}"
        goal["verdict"] = "met"
    return goal


def not_slower(table, name, metric, limit=NOISE, words="not slower"):
    ratio = table.ratio("rust", "stock", N, metric)
    return {"goal": f"N = {N}: {name} {words}",
            "found": times(ratio, "the time of stock"),
            "verdict": verdict(ratio, ratio and ratio["median"] <= limit)}


def linear(table):
    slope = table.exponent("rust", "idle2") if N in table.sizes else None
    stock = table.exponent("stock", "idle2") if N in table.sizes else None
    found = "-"
    if slope is not None and stock is not None:
        found = f"N^{slope:.2f} (stock: N^{stock:.2f})"
    return {"goal": f"from N = 1000: drop_caches 2 close to linear in N "
                    f"(below N^{LINEAR})",
            "found": found,
            "verdict": verdict(slope, slope is not None and slope < LINEAR)}


def check(table):
    return [
        at_least(table, "idle drop_caches 2", "idle2", 12, "faster"),
        at_least(table, "drop_caches 2, nothing left at all", "empty2", 12,
                 "faster"),
        linear(table),
        maps(table, N, f"N = {N}: memory for shrinker maps at least 20 times "
             "smaller", 20),
        not_slower(table, "creating groups", "create"),
        not_slower(table, "mounting", "mount"),
        not_slower(table, "mounting", "mount", 1.0,
                   "faster (stock grows its maps)"),
        not_slower(table, "first drop_caches 3 (real work)", "first3"),
    ]
