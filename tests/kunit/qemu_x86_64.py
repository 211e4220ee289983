# SPDX-License-Identifier: GPL-2.0
#
# For kunit.py --qemu_config: two CPUs that run in parallel, and two nodes.

import os
import subprocess

from ..qemu_config import QemuArchParams

# How long the kernel may take to boot under KVM, in seconds. It takes one.
_PROBE_TIMEOUT = 20


class _Params(list):
  """What kunit.py adds to its command line for QEMU, and a say in the rest.

  It tells QEMU to use KVM if there is KVM. On some hosts KVM is there but does
  not run a kernel: only trying shows that.
  """

  def __radd__(self, command):
    kept = []
    words = iter(command)
    for word in words:
      if word == '-accel':
        next(words)
      else:
        kept.append(word)
    return kept + _accel(kept[0], kept[kept.index('-kernel') + 1]) + list(self)


def _accel(qemu, kernel):
  if _kvm_boots(qemu, kernel):
    return ['-accel', 'kvm', '-cpu', 'host']
  return ['-accel', 'tcg,thread=multi', '-cpu', 'max']


def _kvm_boots(qemu, kernel):
  if not os.access('/dev/kvm', os.R_OK | os.W_OK):
    return False
  # No test matches the filter, so it reboots at once, which ends QEMU.
  append = 'console=ttyS0 kunit_shutdown=reboot kunit.filter_glob=none'
  command = [qemu, '-nodefaults', '-nographic', '-no-reboot', '-serial', 'stdio',
             '-accel', 'kvm', '-cpu', 'host', '-kernel', kernel,
             '-append', append, *_MACHINE]
  try:
    probe = subprocess.run(command, stdin=subprocess.DEVNULL, check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           timeout=_PROBE_TIMEOUT)
  except (OSError, subprocess.TimeoutExpired):
    return False
  return b'Brought up' in probe.stdout


_MACHINE = [
  # qboot is faster than SeaBIOS and doesn't mess up the terminal.
  '-bios', 'qboot.rom',
  '-M', 'q35', '-m', '1024', '-smp', '2,sockets=2',
  '-object', 'memory-backend-ram,id=m0,size=512M',
  '-object', 'memory-backend-ram,id=m1,size=512M',
  '-numa', 'node,nodeid=0,cpus=0,memdev=m0',
  '-numa', 'node,nodeid=1,cpus=1,memdev=m1',
]

QEMU_ARCH = QemuArchParams(linux_arch='x86_64',
                           kconfig='''
CONFIG_SERIAL_8250=y
CONFIG_SERIAL_8250_CONSOLE=y''',
                           qemu_arch='x86_64',
                           kernel_path='arch/x86/boot/bzImage',
                           kernel_command_line='console=ttyS0',
                           extra_qemu_params=_Params(_MACHINE))
