# SPDX-License-Identifier: GPL-2.0
"""Makes disks for a guest, without root and without mounting anything."""

import functools
import os
import pathlib
import shutil
import tempfile

from harness import tools
from harness.common import OUT, BenchError

ROOT_SIZE = "1G"
# Takes what it gets at once, and keeps nothing of it, so that it is large enough for
# whoever reads on and on.
NULL = "driver=null-co,size=64G,read-zeroes=on"


def find(command):
    """Of what is for administrators, too: no user has that in PATH."""
    path = shutil.which(command, path=os.environ.get("PATH", "")
                        + ":/usr/sbin:/sbin:/usr/bin:/bin")
    if not path:
        raise BenchError(f"{command} is not installed: run 'make deps'")
    return pathlib.Path(path)


def stage(folder, files, texts=()):
    """Copies {place in the guest: file here} into the folder, and writes the
    (place, text) of `texts`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # Where /bin is a link to /usr/bin, it has to be one there as well.
    for top in ("bin", "sbin", "lib", "lib64"):
        if os.path.islink(f"/{top}"):
            target = os.path.realpath(f"/{top}").lstrip("/")
            (folder / target).mkdir(parents=True, exist_ok=True)
            (folder / top).symlink_to(target)
    for name in ("dev", "proc", "sys", "tmp", "run", "mnt"):
        (folder / name).mkdir()
    for place, source in files.items():
        path = folder / str(place).lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            shutil.copy(source, path)
    for place, text in texts:
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def make_ext(kind, image, *options):
    image.unlink(missing_ok=True)
    tools.run([find("mke2fs"), "-q", "-F", "-t", kind, "-b", "4096",
               "-E", "root_owner=0:0,lazy_itable_init=0,lazy_journal_init=0", *options],
              image.name)


def file_system(kind, image, folder, size=ROOT_SIZE):
    """Writes one of this kind (ext2, ext4) with what is in the folder, all of it
    root's."""
    make_ext(kind, image, "-d", folder, image, size)


@functools.cache
def for_files(kind, size):
    """A file system of this kind (ext4, xfs) with nothing in it, of `size` bytes, as guests are
    given it: each has a copy."""
    def make(new):
        if kind == "xfs":
            empty(new, size)
            tools.run([find("mkfs.xfs"), "-q", "-f", new], new.name)
        else:
            make_ext(kind, new, new, f"{size // 1024}K")

    return copied(kind, make)


def with_files(kind, size, write_files):
    """The same (ext4 alone) with what `write_files` writes to a folder."""
    def make(new):
        with tempfile.TemporaryDirectory(dir=OUT) as folder:
            write_files(pathlib.Path(folder))
            file_system(kind, new, folder, f"{size // 1024}K")

    return copied(f"{kind}-with-files", make)


def copied(name, make):
    """An image that `make` writes, of which each guest has a copy."""
    OUT.mkdir(parents=True, exist_ok=True)
    image, new = OUT / f"{name}.img", OUT / f"{name}-{os.getpid()}.new"
    make(new)
    # Other programs of the harness start guests with it, too.
    new.replace(image)
    return f"file={image},format=raw,cache=unsafe,snapshot=on"


def empty(image, size):
    with open(image, "wb") as file:
        file.truncate(size)


def drive(name, size):
    """An empty disk of `size` bytes, as a guest is given it: it need not last."""
    OUT.mkdir(parents=True, exist_ok=True)
    image = OUT / f"{name}.img"
    empty(image, size)
    return f"file={image},format=raw,cache=unsafe"
