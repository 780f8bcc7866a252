#!/usr/bin/env python3
"""Checks that the files which README.md, CONTRIBUTING.md and docs/ name are there: links, and paths in backticks."""

import re
import sys
from pathlib import Path

LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
PATH = re.compile(r"`((?:src|include|tests|cmake|configs|docker|docs|bench)/[^`\s<>]*)`")


def problems(root: Path) -> list[str]:
    found = []
    for page in [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]:
        text = page.read_text()
        name = page.relative_to(root)
        found += [f"{name}: no such file: {link}" for link in LINK.findall(text)
                  if not (page.parent / link).exists()]
        found += [f"{name}: no such file: {path}" for path in PATH.findall(text)
                  if not (any(root.glob(path)) if "*" in path else (root / path).exists())]
    return found


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]).resolve())
    print("\n".join(wrong) or "all files that the documents name are there")
    sys.exit(1 if wrong else 0)
