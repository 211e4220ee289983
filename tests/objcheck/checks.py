# SPDX-License-Identifier: GPL-2.0
"""What must hold for the code; each check yields what is wrong."""

# Bytes that a frame must be smaller than. Reclaim can start with most of the
# 16 KiB of a kernel stack in use.
FRAME_LIMIT = 512


def panics(code):
    reported, search = set(), code.search
    entries = code.entries()
    for entry in (*entries, *code.rust_functions()):
        # Last comes what only its own circle calls.
        if entry in search.reached and entry not in entries:
            continue
        for path in search.paths(entry):
            names = [getattr(step, "name", step) for step in path]
            last = max(i for i, step in enumerate(path) if step in search.ours)
            # Once, whatever leads to our last function.
            if (names[last], names[-1]) in reported:
                continue
            reported.add((names[last], names[-1]))
            yield "\n      -> ".join(map(code.source, names))


def unknown_frames(code):
    for function, why in code.unknown:
        yield f"{code.source(function.name)} ({function.path}): {why}"


def large_frames(code):
    for function, size in code.frames.items():
        if size >= FRAME_LIMIT:
            yield (f"{code.source(function.name)} ({function.path}): "
                   f"{size} bytes, not below {FRAME_LIMIT}")


def recursion(code):
    for function in code.functions():
        code.depths.deepest(function)
    for path in sorted(code.depths.recursion, key=lambda path: path[0].name):
        names = [code.source(function.name) for function in (*path, path[0])]
        yield "\n      -> ".join(names)


CHECKS = {"no way to a panic": panics, "each frame is known": unknown_frames,
          f"each frame is below {FRAME_LIMIT} bytes": large_frames, "no recursion": recursion}
