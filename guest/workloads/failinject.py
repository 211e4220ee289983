#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The first process of a guest in which each allocation of an operation fails
once: the first one, then the second one, and so on, until there are no more.

Each operation is gone through twice. First every allocation of the kernel
fails: it may have no effect, or user space gets an errno that says why. Then
only those fail that this project's Rust code makes: each of these must reach
user space, as the one errno that fits. After a failure the same operation
succeeds, and in the end nothing is lost.
"""

import collections
import errno
import time

from guest import balance, faults, init, leaks
from guest.init import Failed
from guest.operations import operations

# More than any operation has.
MOST = 2000


def name_of(number):
    return errno.errorcode.get(number, str(number)) if number else "no effect"


def attempt(operation, number, ours):
    """Returns whether there was such an allocation, and what it led to."""
    what = f"{operation.name}, allocation {number}{' of ours' if ours else ''}"
    operation.prepare()
    hit, found = operation.attempt(number)
    if found and not hit:
        raise Failed(f"{operation.name}: {name_of(found)} without a failure")
    if hit:
        allowed = {operation.failure} if ours else operation.allowed
        if found not in allowed:
            raise Failed(f"{what}: {name_of(found)}, not "
                         f"{' or '.join(map(name_of, sorted(allowed)))}")
        if found:
            operation.after_failure()
            operation.again()
    operation.undo()
    operation.clean()
    return hit, found


def fail_each(operation, ours, stride=1):
    """Returns how often there was which errno."""
    seen = collections.Counter()
    least = operation.least_ours if ours else operation.least
    faults.choose(ours)
    for number in range(1, MOST, stride):
        hit, found = attempt(operation, number, ours)
        if not hit:
            break
        seen[name_of(found)] += 1
    else:
        raise Failed(f"{operation.name} has more than {MOST} allocations")
    # Otherwise a kernel that injects nothing would pass.
    if seen.total() * stride < least:
        raise Failed(f"{operation.name}: {seen.total()} allocations"
                     f"{' of ours' if ours else ''} failed, not {least}: faults "
                     "are not injected where they should be")
    return seen


def go_through(operation, stride):
    """Returns what came of the failures of one operation."""
    print(f"# {operation.name}", flush=True)
    began, groups = time.monotonic(), balance.groups()
    operation.set_up()
    before = balance.state()
    every = collections.Counter()
    if operation.is_repeatable:
        every = fail_each(operation, False, stride)
    ours = fail_each(operation, True)
    if operation.is_repeatable:
        balance.settle(before)
    operation.tear_down()
    # With v1, one that was removed counts until it is released: what the next one begins with must
    # not have it.
    balance.settle({"groups": groups})
    found = {"name": operation.name, "every": every, "ours": ours,
             "seconds": round(time.monotonic() - began, 1)}
    print(f"# {found}", flush=True)
    return found


def work(arguments):
    parser = init.parser()
    parser.add_argument("--v1", action="store_true")
    parser.add_argument("--only", default="", help="part of operations' names")
    parser.add_argument("--stride", type=int, default=1,
                        help="let only each STRIDE-th of all allocations fail")
    options = parser.parse_args(arguments)

    init.mount_groups(options.v1)
    faults.set_up()
    found = [go_through(operation, options.stride)
             for operation in operations(options.v1)
             if options.only in operation.name]
    if not found:
        raise Failed(f"no operation is called \"{options.only}\"")
    leaks.check()
    return {"stride": options.stride, "operations": found}


init.main(work)
