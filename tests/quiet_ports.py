"""A pytest plugin (`-p quiet_ports`): tests that run side by side do not take each other's ports."""

import contextlib
import random
import socket


def quiet_port() -> int:
    """A free port below those that the system gives to outgoing connections: none of the many connections of
    tests that run beside this one takes it before it is listened on."""
    while True:
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind(("127.0.0.1", port := random.SystemRandom().randrange(10000, 32000)))
            return port


def pytest_configure():
    import lab

    lab.free_port = quiet_port
