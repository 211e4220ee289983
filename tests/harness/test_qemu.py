# SPDX-License-Identifier: GPL-2.0
"""How the CPUs and the memory of a guest are laid out."""

from harness import qemu


def test_nodes():
    assert qemu.topology(qemu.Machine("tcg", 512, 2)) == ["-m", "512", "-smp", "2"]
    found = qemu.topology(qemu.Machine("tcg", 512, 4, nodes=2))
    assert found[:4] == ["-m", "512", "-smp", "4,sockets=2"]
    assert found[-1] == "node,nodeid=1,memdev=m1,cpus=2-3"
    assert sum("size=256M" in argument for argument in found) == 2
