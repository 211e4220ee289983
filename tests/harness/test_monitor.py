# SPDX-License-Identifier: GPL-2.0
"""Shows that QEMU's monitor is asked, and what it refuses is an error."""

import json
import socket
import threading

import pytest

from harness import monitor
from harness.common import BenchError

EVENT = {"event": "STOP"}


@pytest.fixture(name="qemu")
def fake_qemu(tmp_path):
    """Gives the socket's path, what was asked, and the answers to it."""
    path, asked, answers = tmp_path / "socket", [], []
    with socket.socket(socket.AF_UNIX) as server:
        server.settimeout(10)
        server.bind(str(path))
        server.listen()

        def serve():
            connection, _ = server.accept()
            with connection, connection.makefile("rw") as stream:
                stream.write('{"QMP": {}}\n')
                stream.flush()
                for line in stream:
                    asked.append(json.loads(line))
                    if not answers:
                        return
                    for answer in answers.pop(0):
                        stream.write(json.dumps(answer) + "\n")
                    stream.flush()

        thread = threading.Thread(target=serve)
        thread.start()
        yield path, asked, answers
        thread.join(10)


def test_ask(qemu):
    path, asked, answers = qemu
    answers += [[{"return": {}}], [EVENT, {"return": {}}]]
    monitor.ask(path, "dump", 10, paging=True)
    assert asked == [{"execute": "qmp_capabilities", "arguments": {}},
                     {"execute": "dump", "arguments": {"paging": True}}]


def test_refused(qemu):
    path, _, answers = qemu
    answers += [[{"return": {}}], [{"error": {"desc": "no such thing"}}]]
    with pytest.raises(BenchError, match="refuses inject-nmi: no such thing"):
        monitor.ask(path, "inject-nmi", 10)


def test_ended(qemu):
    path, asked, answers = qemu
    answers += [[{"return": {}}]]
    # The other end closes when it has nothing to say to the second command.
    with pytest.raises(BenchError, match="does not answer inject-nmi"):
        monitor.ask(path, "inject-nmi", 10)
    assert len(asked) == 2


def test_nobody(tmp_path):
    with pytest.raises(OSError):
        monitor.ask(tmp_path / "none", "inject-nmi", 10)
