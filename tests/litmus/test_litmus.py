# SPDX-License-Identifier: GPL-2.0
"""Proves the protocols by the kernel's memory model.

Runs each litmus test here through herd7. A test NAME.litmus has the bad outcome
of a race in its "exists" clause, which must never happen; NAME+CHANGE.litmus is
the same with something changed, mostly a barrier left out, and says itself what
comes of it. That it can happen there shows that the test sees the barrier.

Before that, checks that the tests and the tables of protocols.rst fit each
other and the code.
"""

import concurrent.futures
import difflib
import os
import pathlib
import re
import shlex
import subprocess

import pytest

from harness import list_table, tools
from harness.common import BUILD, ROOT, BenchError, shown

HERE = pathlib.Path(__file__).parent
MODEL = BUILD / 'linux' / 'tools' / 'memory-model'
LOGS = BUILD / 'log' / 'litmus'
TABLES = HERE / 'protocols.rst'
# What is checked without herd7.
CHECK = 'the tests and their tables'
# Where our Rust is: the crate, and what we add to the kernel crate.
RUST = [ROOT / 'rust' / 'mm_reclaim', ROOT / 'rust' / 'kernel' / 'sync' / 'rcu']

# In seconds. On an idle host the slowest test takes a tenth of it.
TIMEOUT = 180


class Test:
    """A litmus test as it stands in its file."""

    def __init__(self, path):
        self.path = path
        self.name = path.stem
        self.base = self.name.split('+', maxsplit=1)[0]
        self.text = path.read_text(encoding='utf-8')
        found = re.search(r'^ \* Result: (Never|Sometimes)$', self.text, re.M)
        self.result = found.group(1) if found else None

    def is_variant(self):
        """Whether something is changed in it."""
        return self.name != self.base

    def code(self):
        """The lines below the head comment, without other comments."""
        lines = self.text.split('*)\n', 1)[-1].splitlines()
        return [re.sub(r'\s*//.*', '', line) for line in lines]

    def exists(self):
        """The bad outcome."""
        return self.text.partition('\nexists ')[2]


def load():
    """All tests, by name."""
    return {test.name: test
            for test in map(Test, sorted(HERE.glob('*.litmus')))}


def check_tests(tests):
    """What is wrong with the tests themselves."""
    for test in tests.values():
        if not test.text.startswith(f'C {test.name}\n'):
            yield f'{test.name}: its first line gives another name'
        if not test.result or not test.exists():
            yield f'{test.name}: lacks its "Result:" or "exists"'
        if 'SPDX-License-Identifier: GPL-2.0\n' not in test.text:
            yield f'{test.name}: lacks its licence'
        if not test.is_variant():
            if test.result != 'Never':
                yield f'{test.name}: is no variant, so it must say "Never"'
            if not any(other.base == test.name and other.result == 'Sometimes'
                       for other in tests.values()):
                yield (f'{test.name}: no variant has the bad outcome, so it '
                       'might be one that can never be')
        elif test.base not in tests:
            yield f'{test.name}: there is no {test.base}'
        else:
            base = tests[test.base]
            if base.exists() != test.exists():
                yield f'{test.name}: asks for another outcome than {base.name}'
            # Else it could be about something else by now.
            changed = [line for line in difflib.ndiff(base.code(), test.code())
                       if line[0] in '+-' and line[2:].strip()]
            if not 0 < len(changed) <= 8:
                yield (f'{test.name}: {len(changed)} lines differ from '
                       f'{base.name}, not 1 to 8')


def functions(path):
    """The functions of a file, each with its number of ORDERING comments.

    Rust's have their type in front. Of a patch, what it adds and what it shows
    of the file counts.
    """
    counts = {}
    kind = current = None
    for line in path.read_text(encoding='utf-8').splitlines():
        if path.suffix != '.rs':
            for name in re.findall(r'\b([a-z_]\w*)\(', line):
                counts.setdefault(f'{name}()', 0)
            continue
        found = re.match(r'impl(?:<[^{]*?>)? (?:\w+(?:<[^{]*>)? for )?(\w+)', line)
        if found:
            kind = found.group(1)
        elif line == '}':
            kind = None
        found = re.match(r'( *)(?:pub(?:\(crate\))? )?(?:const |unsafe |extern "C" )*'
                         r'fn (\w+)', line)
        if found:
            current = f'{kind}::{found.group(2)}' if found.group(1) and kind \
                else found.group(2)
            counts.setdefault(current, 0)
        if '// ORDERING:' in line:
            counts[current] = counts.get(current, 0) + 1
    return counts


def quoted(cell):
    """What a cell has as code."""
    return re.findall(r'``([^`]+)``', cell)


def rust_files():
    """Our files in Rust, sorted."""
    return [path for folder in RUST for path in sorted(folder.rglob('*.rs'))
            if 'tests' not in path.relative_to(folder).parts]


def sources():
    """Where a function can be: our Rust, and C code of ours or around it."""
    yield from rust_files()
    yield from (ROOT / 'mm').glob('*.c')
    yield from (ROOT / 'patches').glob('*.patch')
    yield from (path for path in (MODEL.parents[1] / 'mm').glob('*.c')
                if path.name in ('list_lru.c', 'memcontrol.c'))


def is_type(name):
    """Whether our Rust has a type of that name."""
    return any(re.search(rf'\b(?:struct|enum) {re.escape(name)}\b',
                         path.read_text(encoding='utf-8'))
               for path in rust_files())


def check_tables(tests):
    """What is wrong with the tables.

    A row either begins with tests, and describes them, or with a file, functions
    and the number of their ORDERING comments, and gives tests or a reason.
    """
    known = {name for path in sources() for name in functions(path)}
    described = set()
    covered = {}
    shown = set()
    for row in list_table.rows(TABLES):
        first = quoted(row[0])
        if not first:
            continue
        if '/' not in first[0]:
            described.update(first)
            for name in quoted(row[2]):
                if name not in known and not is_type(name):
                    yield f'{TABLES.name}: there is no function {name}'
            continue
        path = ROOT / first[0]
        if not path.is_file():
            yield f'{TABLES.name}: there is no {first[0]}'
            continue
        there = functions(path)
        names = quoted(row[1])
        for name in names:
            if name not in there:
                yield f'{TABLES.name}: {first[0]} has no function {name}'
            covered[path, name] = covered.get((path, name), 0) + 1
        wanted = sum(there.get(name, 0) for name in names)
        if row[2] != str(wanted):
            yield (f'{TABLES.name}: {first[0]}, {", ".join(names)}: {wanted} '
                   f'ORDERING comments there, {row[2]} here')
        if not quoted(row[3]) and len(row[3]) < 20:
            yield f'{TABLES.name}: {first[0]}, {", ".join(names)}: no test, no reason'
        shown.update(quoted(row[3]))

    for path in rust_files():
        for name, number in functions(path).items():
            if number and (path, name) not in covered:
                yield (f'{path.relative_to(ROOT)}: the ORDERING comment of {name} '
                       f'is in no table of {TABLES.name}')
    for (path, name), number in covered.items():
        if number > 1:
            yield f'{TABLES.name}: {number} rows for {path.name}, {name}'
    for name in sorted((described | shown) - set(tests)):
        yield f'{TABLES.name}: there is no test {name}'
    for test in tests.values():
        if test.name not in (shown if test.is_variant() else described):
            yield f'{test.name}: is in no table of {TABLES.name}'


def judge(herd, test):
    """Runs a test: nothing if all is well, else what is wrong."""
    log = LOGS / f'{test.name}.log'
    try:
        done = subprocess.run([*herd, '-conf', 'linux-kernel.cfg', test.path],
                              cwd=MODEL, timeout=TIMEOUT, check=False, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired:
        return f'no verdict after {TIMEOUT} s'
    log.write_text(done.stdout, encoding='utf-8')
    found = re.search(r'^Observation (\S+) (\w+) \d+ \d+$', done.stdout, re.M)
    if done.returncode or not found:
        return f'herd7 failed, see {shown(log)}'
    # As of a data race: then the model promises nothing.
    if re.search(r'^Flag ', done.stdout, re.M):
        return f'the model flags it, see {shown(log)}'
    if found.group(1) != test.name or found.group(2) != test.result:
        return f'{found.group(2)}, not {test.result}, see {shown(log)}'
    return None


def cases(_options):
    if not (MODEL / 'linux-kernel.cfg').is_file():
        raise BenchError(f"{shown(MODEL)} is missing: run 'make tree'")
    return {CHECK: CHECK, **load()}


@pytest.fixture(scope='module')
def verdicts(request):
    """Of the tests that were chosen, which run at the same time, one on each CPU."""
    todo = {item.callspec.id: item.callspec.params['case'] for item in request.session.items}
    todo.pop(CHECK, None)
    LOGS.mkdir(parents=True, exist_ok=True)
    herd = shlex.split(tools.run([ROOT / 'scripts' / 'herd7'], 'herd7')) if todo else []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            yield {name: pool.submit(judge, herd, test) for name, test in todo.items()}
        finally:
            pool.shutdown(cancel_futures=True)


def test_litmus(case, step, verdicts):
    if case == CHECK:
        tests = load()
        wrong = '\n'.join([*check_tests(tests), *check_tables(tests)])
    else:
        wrong = verdicts[case.name].result()
        step.said = case.result
    if wrong:
        raise BenchError(wrong)
