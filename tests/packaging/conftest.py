"""What surrounds the binary that SMG_BINARY names (default: build/release/smg): documents, configurations, package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/packaging")]
os.environ.setdefault("SMG_BINARY", str(ROOT / "build/release/smg"))


@pytest.fixture
def tool():
    """`tool("promtool")`: its path; the test is skipped where it is not installed."""
    def find(name: str) -> str:
        path = shutil.which(name)
        if path is None:
            pytest.skip(f"{name} is not installed (tests/run.sh install)")
        return path
    return find


@pytest.fixture(scope="session")
def printed():
    """`printed("man")`: what `smg print man` prints."""
    def run(document: str) -> str:
        return subprocess.run([os.environ["SMG_BINARY"], "print", document],
                              capture_output=True, text=True, check=True).stdout
    return run
