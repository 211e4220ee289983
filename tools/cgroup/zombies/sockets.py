# SPDX-License-Identifier: GPL-2.0
"""Finds sockets: those of processes, those of which only TCP still knows, and those that
wait in a Unix socket to be received, with all other files that do."""

import drgn

from .processes import IN_FLIGHT

# States in which a TCP socket is something smaller.
TIME_WAIT, NEW_SYN_RECV = 6, 12
STATES = {1: "established", 2: "SYN sent", 3: "SYN received", 4: "FIN wait 1",
          5: "FIN wait 2", 7: "closed", 8: "close wait", 9: "last ACK", 10: "listening",
          11: "closing"}
FAMILIES = {1: "Unix", 2: "IPv4", 10: "IPv6", 16: "netlink", 17: "packet", 40: "vsock"}
TYPES = {1: "stream", 2: "datagram", 3: "raw", 5: "seqpacket"}


class Sockets:
    """Adds to the files of `processes` what is in flight."""

    def __init__(self, kernel, processes):
        self.kernel = kernel
        self.processes = processes
        # By the address of the struct sock.
        self.holders = {}
        if not kernel.has_member("struct sock", "sk_memcg"):
            return
        self.memcg = kernel.offset("struct sock", "sk_memcg")
        self.of_socket = kernel.offset("struct socket", "sk")
        self._add_files()
        nets = list(self._nets())
        if kernel.has_type("struct unix_sock"):
            # What is in flight may be a Unix socket that is in no table of files.
            for net in nets:
                self._read_unix(net)
            self._add_files()
        if kernel.variable("tcp_hashinfo") is not None:
            for table in {self._tcp_table(net) for net in nets}:
                self._read_tcp(table)

    def _add_files(self):
        for file in self.processes.files["socket"].values():
            sock = self.kernel.u64(file.private_data + self.of_socket)
            if sock:
                self.holders[sock] = file.holders

    def of_memcgs(self, memcgs):
        """(memcg, socket, holders) of those that belong to one of these."""
        for address, holders in self.holders.items():
            memcg = self.kernel.u64(address + self.memcg)
            if memcg in memcgs:
                yield memcg, self.kernel.at("struct sock", address), holders

    def _nets(self):
        head = self.kernel.address("net_namespace_list")
        if head:
            yield from self.kernel.entries(head, "struct net", "list")

    # ---- TCP

    def _tcp_table(self, net):
        return net.ipv4.tcp_death_row.hashinfo.value_()

    def _read_tcp(self, address):
        """Closed by its process, and still sending what that wrote."""
        table = self.kernel.at("struct inet_hashinfo", address)
        node = self.kernel.offset("struct sock_common", "skc_nulls_node")
        buckets = self.kernel.words(table.ehash.value_(), table.ehash_mask.value_() + 1)
        for first in buckets:
            for sock in self.kernel.chain(first, node):
                state = self.kernel.at("struct sock_common", sock).skc_state.value_()
                if state not in (TIME_WAIT, NEW_SYN_RECV):
                    self.holders.setdefault(sock, [])

    # ---- Unix

    def _unix_buckets(self, net):
        buckets = net.unx.table.buckets.value_()
        # UNIX_HASH_SIZE, which no type tells.
        return self.kernel.words(buckets, 512) if buckets else ()

    def _read_unix(self, net):
        node = self.kernel.offset("struct sock_common", "skc_node")
        for first in self._unix_buckets(net):
            for sock in self.kernel.chain(first, node):
                self.holders.setdefault(sock, [])
                self._read_messages(self.kernel.at("struct sock", sock))

    def _read_messages(self, sock):
        queue = sock.sk_receive_queue.address_of_().value_()
        for address in self.kernel.addresses(queue):
            message = self.kernel.at("struct sk_buff", address)
            parms = drgn.Object(self.kernel.program, "struct unix_skb_parms",
                                address=message.cb.address_of_().value_())
            if not parms.fp:
                continue
            waiting = self.holders.get(sock.address_of_().value_()) or [(0, "", -1, "")]
            pid, comm, _, _ = waiting[0]
            for number in range(parms.fp.count.value_()):
                self.processes.visit(parms.fp.fp[number].value_(), pid, comm, -1, IN_FLIGHT)


def described(sock):
    common = sock.__sk_common
    family, kind = common.skc_family.value_(), sock.sk_type.value_()
    name = f"{FAMILIES.get(family, f'family {family}')} {TYPES.get(kind, f'type {kind}')}"
    if kind == 1 and family in (2, 10):
        name += f", {STATES.get(common.skc_state.value_(), 'unknown')}"
    return f"socket ({name})"
