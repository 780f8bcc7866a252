"""A pytest plugin (`-p deselection`): leaves out the cases that a list names; a stale line of it fails."""

from pathlib import Path

import pytest


def pytest_addoption(parser):
    parser.addoption("--deselection", type=Path, help="file of `FILE::TEST  # reason` lines")


class StaleLine(pytest.Item):
    """A line that names no case: a failing test, since processes that run tests cannot refuse to start."""

    def runtest(self):
        pytest.fail("no case has this name any more; remove the line", pytrace=False)


def listed(path: Path) -> list[str]:
    lines = (line.split("  # ")[0].strip() for line in path.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


# First, so that -k and -m have not taken cases away yet.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session, config, items):
    path = config.getoption("--deselection")
    if not path:
        return
    uses = dict.fromkeys(listed(path), 0)
    kept, left_out = [], []
    for item in items:
        case = f"{item.path.name}::{item.name}"
        line = next((line for line in (case, case.split("[")[0]) if line in uses), None)
        if line:
            uses[line] += 1
        (left_out if line else kept).append(item)
    # Only a whole file can show that a line about it is stale.
    whole = {Path(argument).name for argument in config.args if "::" not in argument}
    kept += [StaleLine.from_parent(session, name=f"{path.name}: {line}")
             for line, count in uses.items() if not count and line.split("::")[0] in whole]
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept
