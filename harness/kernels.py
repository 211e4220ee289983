# SPDX-License-Identifier: GPL-2.0
"""The kernels of kernels.toml, and the arms that benches compare.

As a program, for shell:

	python3 -m harness.kernels			the table, for a terminal
	python3 -m harness.kernels used-by WHAT		names, one a line
	python3 -m harness.kernels shell NAME ARCH	assignments for scripts/kernel
"""

import argparse
import dataclasses
import pathlib
import shlex
import tomllib

from harness.common import BUILD, ROOT, BenchError, main, shown

TABLE = pathlib.Path(__file__).with_suffix(".toml")
ARCHS = ("x86_64", "um", "arm64")
FROM = ("verify", "rust", "stock")
LANGUAGES = ("C", "Rust")
# Only these may differ between kernels that are compared.
OWN_OPTION = r"CONFIG_MEMCG_SHRINKER_RUST"


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A row of the table."""
    name: str
    about: str
    parts: tuple
    language: str
    arch: tuple = ARCHS
    copied_from: tuple = FROM
    patch: str = ""
    tree: str = ""
    untouched: bool = False
    looks: tuple = ()
    differs: str = ""
    used_by: tuple = ()

    @property
    def implementation(self):
        """What the kernel has to have, as a guest would call it."""
        return self.language.lower()

    @property
    def folder(self):
        """Where it is built for x86_64."""
        return BUILD / f"x86_64-{self.name}"

    @property
    def image(self):
        return self.folder / "arch/x86/boot/bzImage"

    @property
    def vmlinux(self):
        return self.folder / "vmlinux"

    @property
    def config(self):
        return self.folder / ".config"

    @property
    def own_option(self):
        return "|".join(filter(None, (OWN_OPTION, self.differs)))


@dataclasses.dataclass(frozen=True)
class Arm:
    """A kernel, its command line, and what reports call both."""
    name: str
    kernel: Kernel
    args: str = ""
    about: str = ""


def kernel_of(name, row):
    row = {key: tuple(value) if isinstance(value, list) else value
           for key, value in row.items()}
    row["copied_from"] = row.pop("from", FROM)
    return Kernel(name, **row)


def wrong_with(kernel, names):
    """What is wrong with a row, if anything."""
    if kernel.language not in LANGUAGES:
        yield f"its language is one of {', '.join(LANGUAGES)}"
    yield from (f"there is no configs/{part}.config" for part in kernel.parts
                if not (ROOT / f"configs/{part}.config").is_file())
    yield from (f"there is no architecture {arch}" for arch in kernel.arch
                if arch not in ARCHS)
    yield from (f"there is no kernel {other} to copy" for other in kernel.copied_from
                if other not in names)
    if kernel.patch and not (ROOT / "tests" / kernel.patch).is_file():
        yield f"there is no tests/{kernel.patch}"
    if kernel.tree and (kernel.patch or kernel.untouched):
        yield "its tree is made elsewhere"
    if kernel.patch and kernel.untouched:
        yield "a patch is for the tree of the series"


def load(path=TABLE):
    """The kernels and the arms, by name, in the order of the table."""
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8"))
        kernels = {name: kernel_of(name, row) for name, row in rows["kernel"].items()}
        arms = {name: Arm(name, kernels[row.get("kernel", name)], row.get("args", ""),
                          row["about"]) for name, row in rows["arm"].items()}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise BenchError(f"{shown(path)}: {error!r}") from None
    for kernel in kernels.values():
        for why in wrong_with(kernel, kernels):
            raise BenchError(f"{shown(path)}: kernel {kernel.name}: {why}")
    return kernels, arms


KERNELS, ARMS = load()


def used_by(what):
    """Their names."""
    found = [kernel.name for kernel in KERNELS.values() if what in kernel.used_by]
    if not found:
        raise BenchError(f"{shown(TABLE)}: no kernel is used by \"{what}\"")
    return found


def alone(name, args="", about=""):
    """A kernel that is compared with nothing."""
    return Arm(name, KERNELS[name], args, about)


def table():
    width = max(map(len, KERNELS))
    for kernel in KERNELS.values():
        archs = f" ({', '.join(kernel.arch)} only)" if kernel.arch != ARCHS else ""
        yield f"{kernel.name:{width}}  {kernel.about}{archs}"


def shell(name, arch):
    """What scripts/kernel asks for."""
    kernel = KERNELS.get(name)
    if not kernel or arch not in kernel.arch:
        raise BenchError(f"no kernel {name} is built for {arch}; there are\n" +
                         "\n".join(f"    {line}" for line in table()))
    yield f"PARTS=({shlex.join(kernel.parts)})"
    yield f"COPIED_FROM=({shlex.join(kernel.copied_from)})"
    yield f"PATCH={shlex.quote(kernel.patch)}"
    yield f"OF_TREE={shlex.quote(kernel.tree)}"
    yield f"UNTOUCHED={'y' if kernel.untouched else ''}"


def program():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("used-by").add_argument("what")
    one = commands.add_parser("shell")
    one.add_argument("name")
    one.add_argument("arch")
    options = parser.parse_args()
    lines = used_by(options.what) if options.command == "used-by" else \
        shell(options.name, options.arch) if options.command == "shell" else table()
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    main(program)
