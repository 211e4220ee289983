# SPDX-License-Identifier: GPL-2.0
"""Looks for ways from our functions to a panic of Rust's.

Followed are calls, jumps and references to functions, through all of the
kernel's Rust code, until a function of C's. Not followed are calls through
pointers that code outside of ours takes from tables, such as vtables.
"""

import collections
import re

# core's own all come to the kernel's handler, rust_begin_unwind, but are better
# known by their names. rust_build_error is what build_assert!() leaves if the
# compiler cannot tell.
PANIC = re.compile(r"core::panicking::|\brust_begin_unwind$|\brust_build_error$|"
                   r"\b(unwrap|expect)_failed$|\bslice_\w+_fail$|"
                   r"\bhandle_alloc_error$|\bcapacity_overflow$|"
                   r"^rust_helper_BUG$|^panic$")
MANGLED = "_R"

# Formatting pads its output if it is asked to, with additions that can panic.
# Allowed where it takes part in no reclaim.
FORMATTING = re.compile(r"<.* as (core|kernel)::fmt::\w+>::fmt$")
MAY_FORMAT = ("show_shrinker_map",)


class Search:
    """`find` returns the function for a name, or the name if no Rust object has
    it; `source` returns a name as it is in the source."""

    def __init__(self, ours, find, source):
        self.ours, self.find, self.source = set(ours), find, source
        # Ours, and those outside of our code.
        self.reached, self.followed, self.allowed = set(), set(), set()

    def paths(self, entry):
        """Yields the shortest path to each panic, through each of our functions
        that has a part in it: functions, the last of which may be a name."""
        for path in self._walk(entry):
            if self._is_end(path[-1]):
                yield path

    def _is_end(self, step):
        """A panic; or a Rust function that is nowhere, which may be one."""
        name = step if isinstance(step, str) else step.name
        return bool(PANIC.search(self.source(name))) or \
            (isinstance(step, str) and name.startswith(MANGLED))

    def _walk(self, entry):
        """Breadth first. What is outside is come to once from each of our
        functions, so that one does not hide another."""
        seen, queue = {(entry, entry)}, collections.deque([(entry, (entry,))])
        while queue:
            last_ours, path = queue.popleft()
            self.reached.add(last_ours)
            yield path
            if isinstance(path[-1], str) or self._is_end(path[-1]):
                continue
            for step in map(self.find, path[-1].targets()):
                if self._may_format(entry, step):
                    self.allowed.add(step)
                    continue
                is_ours = step in self.ours
                ours = step if is_ours else last_ours
                if (ours, step) in seen:
                    continue
                seen.add((ours, step))
                if not is_ours and not isinstance(step, str):
                    self.followed.add(step)
                queue.append((ours, (*path, step)))

    def _may_format(self, entry, step):
        return entry.name in MAY_FORMAT and step not in self.ours and \
            not isinstance(step, str) and FORMATTING.match(self.source(step.name))
