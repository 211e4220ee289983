# SPDX-License-Identifier: GPL-2.0
"""How long ago a memory cgroup was removed.

Nothing records that as such. What is known:

- A kernfs node with attributes of its own (chown, chmod, an extended attribute; systemd
  and container runtimes set them) has the time when a file was last taken from it, and
  removal takes all. That is exact.
- Else a group was there when cgroup.events last changed, which is when its last process
  left it (v2), and when it was made: a new memcg notes the time as the end of its socket
  pressure, and true socket pressure moves that at most a second ahead.
- It was gone when the parent's directory last changed, if that is known, and when the
  parent itself was removed.

What a group notes is in jiffies. A virtual machine that loses ticks has fewer of these
than seconds, and the second kind of bound is too young by that much.
"""

from . import found

# Of socket pressure, in jiffies: HZ.
SECOND = 1.0


class Ages:
    """Of all groups of a Walk."""

    def __init__(self, kernel, walk):
        self.kernel = kernel
        self.walk = walk
        self.now = kernel.now()
        self.jiffies = kernel.jiffies()
        self.tick = kernel.tick()
        self.known = {}
        for address in walk.dying:
            walk.dying[address].age = self.of(address)

    def of(self, address):
        if address not in self.known:
            self.known[address] = self._of(address)
        return self.known[address]

    def _of(self, address):
        memcg, group = self.walk.objects[address], self.walk.dying[address]
        cgroup = memcg.css.cgroup
        changed = self._since_change(cgroup.kn)
        if changed is not None and not group.cgroup_lives:
            return found.Age(changed, changed, "the directory's time")
        least, most, how = 0.0, None, "nothing tells"
        made = self._since(memcg.socket_pressure.value_())
        if made is not None:
            most, how = made + SECOND, "made then, or later"
        left = self._since(cgroup.events_file.notified_at.value_())
        if left is not None and not group.cgroup_lives and (most is None or left <= most):
            most, how = left, "its last process left then, or later"
        parent = memcg.css.parent
        if parent:
            times = [self._since_change(parent.cgroup.kn)]
            other = parent.value_() - self.walk.css
            if other in self.walk.dying:
                times.append(self.of(other).least)
            least = max(time or 0.0 for time in times)
        if most is not None and least > most:
            least = most
        return found.Age(least, most, how)

    def _since(self, then):
        """Seconds since this jiffy; None for none, as before the first event."""
        if not then:
            return None
        # A jiffy counter of 64 bits begins five minutes before it would have wrapped if
        # it had 32: that is no time at all, but the difference is right.
        return max(0.0, (self.jiffies - then) * self.tick)

    def _since_change(self, kn):
        if not kn or not kn.iattr:
            return None
        time = kn.iattr.ia_mtime
        return max(0.0, self.now - time.tv_sec.value_() - time.tv_nsec.value_() / 1e9)
