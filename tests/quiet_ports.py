"""A pytest plugin (`-p quiet_ports`): tests that run side by side do not take each other's ports."""

import contextlib
import os
import random
import socket

FIRST, LAST, PROCESSES = 10000, 31999, 8
given: set[int] = set()


def quiet_port() -> int:
    """A free port that nobody takes before it is listened on: below those that the system gives to outgoing
    connections, not given before, and out of this process's own share (pytest-xdist numbers its processes)."""
    process = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % PROCESSES
    while True:
        port = random.SystemRandom().randrange(FIRST + process, LAST, PROCESSES)
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind(("127.0.0.1", port))
            if port not in given:
                given.add(port)
                return port


def pytest_configure():
    import lab

    lab.free_port = quiet_port
