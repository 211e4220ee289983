# SPDX-License-Identifier: GPL-2.0
#
# For kunit.py --qemu_config: two CPUs that run in parallel, and two nodes.

from ..qemu_config import QemuArchParams

QEMU_ARCH = QemuArchParams(linux_arch='arm64',
                           kconfig='''
CONFIG_SERIAL_AMBA_PL011=y
CONFIG_SERIAL_AMBA_PL011_CONSOLE=y''',
                           qemu_arch='aarch64',
                           kernel_path='arch/arm64/boot/Image',
                           kernel_command_line='console=ttyAMA0',
                           extra_qemu_params=[
                             # Emulating the usual algorithm of pointer
                             # authentication takes most of the time.
                             '-M', 'virt', '-cpu', 'max,pauth-impdef=on',
                             '-smp', '2,sockets=2',
                             '-object', 'memory-backend-ram,id=m0,size=512M',
                             '-object', 'memory-backend-ram,id=m1,size=512M',
                             '-numa', 'node,nodeid=0,cpus=0,memdev=m0',
                             '-numa', 'node,nodeid=1,cpus=1,memdev=m1',
                           ])
