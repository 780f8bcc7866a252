"""End-to-end tests of the binary that SMG_BINARY names (default: build/release/smg)."""

import os
import shlex
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "conformance")]

BINARY = os.environ.setdefault("SMG_BINARY", str(TESTS.parent / "build/release/smg"))
os.environ["GATEWAY"] = f"{shlex.quote(BINARY)} launch"

# Lets tests be `async def`, as those of tests/conformance are.
from conformance.conftest import pytest_pyfunc_call  # noqa: E402, F401

pytest_plugins = ["quiet_ports"]


def pytest_configure(config):
    config.addinivalue_line("markers", "memory: compares resident memory; means nothing under a sanitizer")


def pytest_collection_modifyitems(items):
    if os.environ.get("SMG_SANITIZED"):
        for item in items:
            if item.get_closest_marker("memory"):
                item.add_marker(pytest.mark.skip(reason="a sanitizer has memory of its own"))
