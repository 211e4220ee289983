# SPDX-License-Identifier: GPL-2.0
"""Says why CONFIG_MEMCG_SHRINKER_RUST can't be chosen with a configuration and the tools that this
project builds with, and how to mend that: make doctor [CONFIG=FILE]. The configuration is that of
the running kernel if none is given. The status is 1 if something has to be mended."""

import argparse
import dataclasses
import gzip
import itertools
import os
import pathlib
import platform
import re
import shlex
import subprocess
import tempfile

from harness import common, kconfig, tools
from harness.common import BUILD, ROOT, BenchError

TREE = BUILD / "linux"
OPTION, RUST = "MEMCG_SHRINKER_RUST", "RUST"
VERSION = re.compile(r"(\d+(?:\.\d+)+)")
# What bindgen says when it reads the kernel's header for that.
LIBCLANG = re.compile(r"clang version (\d+(?:\.\d+)+)")
# Before that it knows no --lang_exclude, which Rust needs.
PAHOLE = "1.24"
ARCHES = {"x86_64": "x86", "aarch64": "arm64"}
# Of what is asked for, the file with its entry.
ENTRIES = {RUST: "init/Kconfig", OPTION: "rust/mm_reclaim/Kconfig"}
# By a symbol of the clause; options are those of scripts/config in the kernel tree.
RANDSTRUCT = "-d RANDSTRUCT_FULL -d RANDSTRUCT_PERFORMANCE -e RANDSTRUCT_NONE"
MENDS = {
    "HAVE_RUST": "the kernel has no Rust for this architecture, as it is configured: see "
                 "'select HAVE_RUST' in arch/*/Kconfig",
    "RUST_IS_AVAILABLE": "the tools above; if all of them are good, what make says",
    "MODVERSIONS": "-d MODVERSIONS",
    "GCC_PLUGIN_RANDSTRUCT": RANDSTRUCT,
    "RANDSTRUCT": RANDSTRUCT,
    "DEBUG_INFO_BTF": "-d LTO_CLANG_FULL -d LTO_CLANG_THIN -d LTO_CLANG_THIN_DIST -e LTO_NONE "
                      f"and pahole {PAHOLE} or later, or -d DEBUG_INFO_BTF",
    "CFI": "-d CFI, or a later clang and rustc on x86_64 and arm64",
    "KASAN": "clang (LLVM=1), or -d KASAN",
    "KASAN_SW_TAGS": "a later rustc, or -d KASAN_SW_TAGS -e KASAN_GENERIC",
    "MEMCG": "-e CGROUPS -e MEMCG",
    "64BIT": "none: 32 bits are not supported",
}


@dataclasses.dataclass(frozen=True)
class Finding:
    """Whether something is as it must be; if not, what mends it."""
    what: str
    is_good: bool
    mend: str = ""

    def __str__(self):
        if self.is_good:
            return f"good  {self.what}"
        return f"BAD   {self.what}" + (f"\n      mend: {self.mend}" if self.mend else "")


def output(*command, env=None):
    """What a command says, or None if it fails."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False,
                                env={**os.environ, **(env or {})})
    except OSError:
        return None
    return None if result.returncode else result.stdout + result.stderr


def version_tuple(text):
    return tuple(int(part) for part in text.split("."))


def minimum(tool, arch):
    """The version that the kernel asks for."""
    return output(TREE / "scripts/min-tool-version.sh", tool,
                  env={"ARCH": arch, "SRCARCH": arch}).strip()


def examine_tool(name, command, wanted, mend, pattern=VERSION):
    """One that has to be there, of this version or later."""
    said = output(*command)
    version = pattern.search(said) if said else None
    if not version:
        return Finding(f"{name}: {shlex.join(map(str, command))} does not run", False, mend)
    return Finding(f"{name} {version[1]}, {wanted} or later is needed",
                   version_tuple(version[1]) >= version_tuple(wanted), mend)


def examine_library(rustc, given):
    """The source of Rust's library, which is compiled with the kernel."""
    sysroot = output(rustc, "--print", "sysroot")
    if not given and not sysroot:
        return
    where = pathlib.Path(given) if given else \
        pathlib.Path(sysroot.strip()) / "lib/rustlib/src/rust/library"
    yield Finding(f"library source of rustc: {where}", (where / "core/src/lib.rs").is_file(),
                  "make deps, rustup component add rust-src, or apt install rust-src")


def llvm_tool(name, llvm):
    """As the kernel's Makefile finds it by LLVM=."""
    return f"{llvm}{name}" if llvm.endswith("/") else name if llvm == "1" else f"{name}{llvm}"


def examine_tools(variables):
    """All that the kernel asks of Rust, and of what it is used with."""
    arch = variables["ARCH"]
    rustc, bindgen = variables.get("RUSTC", "rustc"), variables.get("BINDGEN", "bindgen")
    yield examine_tool("rustc", (rustc, "--version"), minimum("rustc", arch),
                       "make deps, or rustup toolchain install stable")
    yield from examine_library(rustc, variables.get("RUST_LIB_SRC"))
    yield examine_tool("bindgen", (bindgen, "--version"), minimum("bindgen", arch),
                       "make deps, or cargo install --locked bindgen-cli")
    yield examine_tool("libclang",
                       (bindgen, TREE / "scripts/rust_is_available_bindgen_libclang.h"),
                       minimum("llvm", arch),
                       "make deps, or set LIBCLANG_PATH to that of a later LLVM", LIBCLANG)
    if "LLVM" in variables:
        for name in ("clang", "ld.lld"):
            yield examine_tool(name, (llvm_tool(name, variables["LLVM"]), "--version"),
                               minimum("llvm", arch), "make deps, or another LLVM=")


def make(folder, variables, target):
    """Returns its status, and what it says of errors."""
    words = [f"{name}={value}" for name, value in variables.items()]
    result = subprocess.run(["make", "-C", TREE, f"O={folder}", *words, target],
                            capture_output=True, text=True, check=False)
    return result.returncode, result.stderr.strip()


def examine_options(text, variables):
    """What the kernel makes of a configuration that asks for the option."""
    with tempfile.TemporaryDirectory(prefix="mm_reclaim-") as folder:
        path = pathlib.Path(folder, ".config")
        path.write_text(f"{text}\nCONFIG_{RUST}=y\nCONFIG_{OPTION}=y\n", encoding="utf-8")
        status, errors = make(folder, variables, "olddefconfig")
        if status:
            raise BenchError(f"make olddefconfig failed:\n{errors}")
        config = kconfig.values(path.read_text(encoding="utf-8"))
        if config.get("RUST_IS_AVAILABLE") != "y":
            _, errors = make(folder, variables, "rustavailable")
            print(errors)
    for symbol, entry in ENTRIES.items():
        clauses = kconfig.dependencies((TREE / entry).read_text(encoding="utf-8"), symbol)
        yield Finding(f"CONFIG_{symbol}={config.get(symbol, 'n')}", config.get(symbol) == "y")
        for clause in kconfig.lacking(clauses, config):
            # What that lacks was said before.
            if clause.text != RUST:
                yield Finding(f"depends on {clause.text}", False, mend_of(clause))
    say_what_is_lost(kconfig.values(text), config)


def mend_of(clause):
    known = [MENDS[each] for each in clause.symbols() if each in MENDS]
    return known[0] if known else f"make this hold: {clause.text}"


def say_what_is_lost(before, after):
    """BTF, which goes without a word if pahole is missing or too old. The option needs none."""
    if before.get("DEBUG_INFO_BTF") == "y" != after.get("DEBUG_INFO_BTF"):
        print(f"lost  CONFIG_DEBUG_INFO_BTF: it needs pahole {PAHOLE} or later, and what its "
              "entry in lib/Kconfig.debug names")


def read_configuration(path):
    """Its text, and where it is from."""
    candidates = [path] if path else [f"/boot/config-{platform.release()}", "/proc/config.gz"]
    for candidate in candidates:
        try:
            with (gzip.open if candidate.endswith(".gz") else open)(
                    candidate, "rt", encoding="utf-8") as file:
                return file.read(), candidate
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise BenchError(f"{candidate} can't be read: {error}") from None
    raise BenchError(f"there is no {' and no '.join(candidates)}: give CONFIG=FILE")


def make_variables(text):
    """What make is given, for the compiler and the architecture of this configuration."""
    said = tools.run([ROOT / "scripts/toolchain"], "there are no tools to build with")
    variables = dict(word.split("=", 1) for word in shlex.split(said))
    if kconfig.values(text).get("CC_IS_GCC") == "y":
        for name in ("LLVM", "CC"):
            variables.pop(name, None)
    head = re.search(r"^# Linux/(\w+) ", text, re.MULTILINE)
    return {"ARCH": head[1] if head else ARCHES.get(platform.machine(), platform.machine()),
            **variables}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", nargs="?", help="of a kernel; without it, that of this one")
    text, where = read_configuration(parser.parse_args().config)
    variables = make_variables(text)
    print(f"configuration: {where}\nmake", *(f"{name}={shlex.quote(value)}"
                                             for name, value in variables.items()), flush=True)
    bad = 0
    for finding in itertools.chain(examine_tools(variables), examine_options(text, variables)):
        print(finding, flush=True)
        bad += bool(finding.mend and not finding.is_good)
    if bad:
        print(f"{bad} to mend; -d and -e are options of scripts/config in the kernel tree, which "
              "changes .config")
    else:
        print(f"CONFIG_{OPTION} can be chosen")
    return 1 if bad else 0


if __name__ == "__main__":
    common.main(main)
