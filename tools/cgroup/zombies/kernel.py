# SPDX-License-Identifier: GPL-2.0
"""Reading a kernel with drgn: the running one, or a dump.

Little of drgn's helpers is used: these change with it and with the kernel, and Debian
12, Debian 13 and PyPI have versions that are years apart.
"""

import drgn

ATOMIC = 1
DEAD = 2
POINTER = 8
ALL_BITS = (1 << 64) - 1


class Failed(Exception):
    """What keeps the program from its task, with its exit status."""

    def __init__(self, text, status=1):
        super().__init__(text)
        self.status = status


NO_DEBUG_INFO = 3
NO_PERMISSION = 4
NO_MEMCG = 5
DEBUG_INFO_HELP = ("no debug information of this kernel: give its vmlinux, built with "
                   "CONFIG_DEBUG_INFO, with --vmlinux, or install the distribution's "
                   "package of it (linux-image-*-dbg)")


def open_core(program, core):
    try:
        if core:
            program.set_core_dump(core)
        else:
            program.set_kernel()
    except PermissionError as error:
        raise Failed(f"{error.filename or core or '/proc/kcore'}: permission denied: run this as "
                     "root", NO_PERMISSION) from None
    except FileNotFoundError as error:
        why = "" if core else ": the kernel needs CONFIG_PROC_KCORE"
        raise Failed(f"{error.filename or core} does not exist{why}") from None
    except (OSError, ValueError) as error:
        raise Failed(f"cannot read {core or '/proc/kcore'}: {error}") from None


def load_debug_info(program, vmlinux):
    try:
        if vmlinux:
            program.load_debug_info([vmlinux])
        else:
            program.load_debug_info(main=True)
    except drgn.MissingDebugInfoError:
        raise Failed(DEBUG_INFO_HELP, NO_DEBUG_INFO) from None
    except FileNotFoundError as error:
        raise Failed(f"{error.filename or vmlinux} does not exist", NO_DEBUG_INFO) from None
    except (OSError, ValueError, LookupError) as error:
        raise Failed(f"cannot use {vmlinux or 'its debug information'}: {error}",
                     NO_DEBUG_INFO) from None


def open_program(core=None, vmlinux=None):
    """Of the running kernel, unless a dump is named."""
    program = drgn.Program()
    open_core(program, core)
    load_debug_info(program, vmlinux)
    return program


class Kernel:
    """A drgn.Program, and what all that reads it has to know."""

    def __init__(self, program):
        self.program = program
        self.notes = []
        try:
            self.type("struct task_struct")
            release = program["init_uts_ns"].name.release.string_()
            banner = program["linux_banner"].string_()
        except LookupError:
            raise Failed(DEBUG_INFO_HELP, NO_DEBUG_INFO) from None
        except drgn.FaultError as error:
            raise Failed(f"{error}: either this is not the vmlinux of this kernel, or drgn "
                         "can't translate addresses of this dump (of QEMU, older versions "
                         "read only those made with paging)") from None
        if not banner.startswith(b"Linux version " + release + b" "):
            raise Failed("the debug information is that of another kernel", NO_DEBUG_INFO)
        self.release = release.decode()
        self.live = bool(program.flags & drgn.ProgramFlags.IS_LIVE)
        if not self.has_type("struct mem_cgroup"):
            raise Failed(f"{self.release} has no memory cgroups (CONFIG_MEMCG)", NO_MEMCG)
        self.cpus = self._bits(program["__cpu_possible_mask"].bits)
        self.nodes = self._bits(program["node_states"][0].bits)
        self.offsets = [program["__per_cpu_offset"][cpu].value_() for cpu in self.cpus]

    def _bits(self, bits):
        """The numbers of the bits that are set."""
        return [at * 64 + bit for at, word in enumerate(bits)
                for bit in range(64) if word.value_() >> bit & 1]

    # ---- types and symbols

    def type(self, name):
        return self.program.type(name)

    def has_type(self, name):
        try:
            return bool(self.program.type(name).is_complete())
        except LookupError:
            return False

    def size(self, name):
        return drgn.sizeof(self.program.type(name))

    def offset(self, type_name, member):
        return drgn.offsetof(self.program.type(type_name), member)

    def has_member(self, type_name, member):
        try:
            self.offset(type_name, member)
        except (LookupError, TypeError):
            return False
        return True

    def variable(self, name):
        """None if this kernel has none of the name."""
        try:
            return self.program[name]
        except LookupError:
            return None

    def address(self, name):
        """Of a variable; None if this kernel has none, and there is no such thing."""
        found = self.variable(name)
        return found if found is None else found.address_

    # ---- objects

    def at(self, type_name, address):
        return drgn.Object(self.program, type_name, address=address)

    def u64(self, address):
        return self.program.read_u64(address)

    def words(self, address, count):
        """Pointers or other numbers of 64 bits, in one read."""
        data = self.program.read(address, count * POINTER)
        return memoryview(data).cast("Q")

    def string(self, address):
        """Of unknown encoding, printable in any case."""
        text = drgn.Object(self.program, "char *", value=address).string_()
        return text.decode("utf-8", "backslashreplace")

    def on_cpus(self, address):
        """Of a per-CPU variable or allocation: (cpu, address) on each possible CPU."""
        return [(cpu, address + offset & ALL_BITS)
                for cpu, offset in zip(self.cpus, self.offsets)]

    def addresses(self, head, offset=0):
        """Of the entries of a circular list whose head is at this address. A list that
        changes meanwhile must not keep this going for ever."""
        seen, at = set(), self.u64(head)
        while at and at != head and at not in seen:
            seen.add(at)
            yield at - offset
            at = self.u64(at)

    def entries(self, head, type_name, member):
        offset = self.offset(type_name, member)
        for address in self.addresses(head, offset):
            yield self.at(type_name, address)

    def chain(self, first, offset):
        """Of the entries of a list that ends with no address, or with an odd one."""
        seen = set()
        while first and not first & 1 and first not in seen:
            seen.add(first)
            yield first - offset
            first = self.u64(first)

    # ---- what several ask for

    def references(self, ref):
        """Of a struct percpu_ref. While it changes over to one counter, what is on the
        CPUs still has to be added, and the counter has a large number on top."""
        count = ref.data.count.counter.value_() & ALL_BITS
        if count < 1 << 62:
            return count
        count -= 1 << 63
        for _, address in self.on_cpus(ref.percpu_count_ptr.value_() & ~(ATOMIC | DEAD)):
            count += self.u64(address)
        return (count + (1 << 63) & ALL_BITS) - (1 << 63)

    def jiffies(self):
        return self.variable("jiffies_64").value_()

    def tick(self):
        """The seconds of a jiffy."""
        source = self.variable("clocksource_jiffies")
        return (source.mult.value_() >> source.shift.value_()) / 1e9

    def now(self):
        """The kernel's real time, which may be late by a jiffy or two."""
        keeper = self.variable("timekeeper_data")
        keeper = (self.variable("tk_core") if keeper is None else keeper[0]).timekeeper
        clock = keeper.tkr_mono
        return keeper.xtime_sec.value_() + (
            clock.xtime_nsec.value_() >> clock.shift.value_()) / 1e9

    def implementation(self):
        return "rust" if self.has_member("struct mem_cgroup", "shrinker_map") else "c"
