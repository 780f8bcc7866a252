#!/usr/bin/env python3
"""Checks every #include against the layers.

    check_layers.py ROOT         exits 1 and lists what breaks the rules
    check_layers.py --self-test  exits 1 unless broken rules are found in a made-up tree

The order of the layers is read from CMakeLists.txt. The rules:
  1. A file includes headers of its own layer and of those it depends on, never of one above.
  2. A header in src/X is private: only src/X and tests/unit/X may include it.
  3. Third-party headers stay where THIRD_PARTY has them.
"""

import re
import sys
import tempfile
from pathlib import Path

# Prefix of a header, and the layers that may include it; the first match counts.
THIRD_PARTY: list[tuple[str, set[str]]] = [
    ("CLI/", {"cli"}),
    ("simdjson", {"relay", "control"}),
    ("prometheus/", {"observability"}),
    ("spdlog/", {"observability"}),
    ("fmt/", {"observability"}),
    ("nghttp2/", {"http"}),
    ("xxhash.h", {"routing"}),
    ("openssl/", {"net", "control"}),
    ("cjose/", {"control"}),
    ("boost/beast", set()),
    ("boost/asio", {"net"}),
]

# Single files that may include one of these all the same, with the reason.
EXCEPTIONS: dict[str, set[str]] = {
    "src/gateway/echo_worker.cpp": {"simdjson.h"},  # the built-in worker reads what it echoes
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
LAYER = re.compile(r"^\s*smg_add_layer\((\w+)(?:\s+DEPENDS\s+([\w\s]+))?\)", re.MULTILINE)
SUFFIXES = {".hpp", ".h", ".cpp"}


def read_layers(root: Path) -> dict[str, set[str]]:
    """Each layer with all that it may include, itself too."""
    layers: dict[str, set[str]] = {}
    for name, depends in LAYER.findall((root / "CMakeLists.txt").read_text()):
        layers[name] = {name}.union(*(layers[lower] for lower in depends.split()))
    return layers


class Checker:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.layers = read_layers(root)
        self.problems: list[str] = []

    def run(self) -> list[str]:
        for top in ("include", "src", "tests/unit"):
            for path in sorted((self.root / top).rglob("*")):
                if path.suffix in SUFFIXES:
                    self.check_file(path)
        return self.problems

    def layer_of(self, path: Path) -> str | None:
        """The layer of a file from its folder; None for src/main.cpp, which is above them all."""
        parts = path.relative_to(self.root).parts
        depth = 1 if parts[0] == "src" else 2
        return parts[depth] if len(parts) > depth + 1 else None

    def check_file(self, path: Path) -> None:
        name = path.relative_to(self.root).as_posix()
        layer = self.layer_of(path)
        if layer is None and name != "src/main.cpp":
            self.problems.append(f"{name}: belongs in the folder of a layer")
            return
        if layer is not None and layer not in self.layers:
            self.problems.append(f"{name}: CMakeLists.txt has no layer '{layer}'")
            return
        for quote, header in INCLUDE.findall(path.read_text()):
            problem = self.judge(path, name, layer, header, quote)
            if problem:
                self.problems.append(f"{name}: {header}: {problem}")

    def judge(self, path: Path, name: str, layer: str | None, header: str, quote: str) -> str | None:
        if header.startswith("smg/"):
            return self.judge_public(layer, header)
        owner = self.private_owner(path, header, quote)
        if owner:
            return None if owner == layer else f"is private to layer '{owner}'"
        if name.startswith("tests/") or header in EXCEPTIONS.get(name, ()):
            return None
        allowed = next((where for prefix, where in THIRD_PARTY if header.startswith(prefix)), None)
        if allowed is not None and layer not in allowed:
            return "only for layer " + (", ".join(sorted(allowed)) or "none")
        return None

    def judge_public(self, layer: str | None, header: str) -> str | None:
        target = header.split("/")[1]
        if not (self.root / "include" / header).is_file():
            return "no such header"
        if layer is not None and target not in self.layers[layer]:
            return f"layer '{layer}' does not depend on '{target}'"
        return None

    def private_owner(self, path: Path, header: str, quote: str) -> str | None:
        """The layer whose src folder holds this header."""
        folders = ([path.parent] if quote == '"' else []) + [self.root / "src"]
        for folder in folders:
            found = (folder / header).resolve()
            if found.is_file() and found.is_relative_to(self.root / "src"):
                return self.layer_of(found)
        return None


def write_tree(root: Path, files: dict[str, str]) -> None:
    for name, includes in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"#include {header}\n" for header in includes.split()))
    (root / "CMakeLists.txt").write_text(
        "smg_add_layer(base)\nsmg_add_layer(net DEPENDS base)\nsmg_add_layer(relay DEPENDS net)\n"
        "smg_add_layer(cli DEPENDS relay)\n")


GOOD = {
    "include/smg/base/text.hpp": "<string>",
    "include/smg/net/stream.hpp": "<boost/asio/awaitable.hpp> <smg/base/text.hpp>",
    "src/net/socket.hpp": "<smg/net/stream.hpp>",
    "src/net/socket.cpp": '"socket.hpp" <openssl/ssl.h>',
    "src/relay/probe.cpp": "<simdjson.h> <smg/net/stream.hpp>",
    "src/cli/flags.cpp": "<CLI/CLI.hpp>",
    "src/main.cpp": "<smg/net/stream.hpp>",
    "tests/unit/net/socket_test.cpp": '"net/socket.hpp" <gtest/gtest.h> <smg/base/text.hpp>',
}

BAD = {
    "include/smg/base/up.hpp": "<smg/net/stream.hpp>",
    "src/relay/socket_user.cpp": '"net/socket.hpp"',
    "src/relay/relative.cpp": '"../net/socket.hpp"',
    "src/net/json.cpp": "<simdjson.h>",
    "src/base/sockets.cpp": "<boost/asio/ip/tcp.hpp>",
    "src/net/beast.cpp": "<boost/beast/http.hpp>",
    "src/base/missing.cpp": "<smg/base/missing.hpp>",
    "src/stray/file.cpp": "<string>",
    "src/stray.cpp": "<string>",
    "tests/unit/base/up_test.cpp": "<smg/net/stream.hpp>",
    "tests/unit/relay/private_test.cpp": '"net/socket.hpp"',
}


def self_test() -> int:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        write_tree(root, GOOD)
        wrong = [f"reported without reason: {p}" for p in Checker(root).run()]
        write_tree(root, BAD)
        found = {problem.split(":")[0] for problem in Checker(root).run()}
        wrong += [f"not found: {name}" for name in sorted(BAD.keys() - found)]
        wrong += [f"reported without reason: {name}" for name in sorted(found - BAD.keys())]
    print("\n".join(wrong) or "the self-test passed")
    return 1 if wrong else 0


def main(arguments: list[str]) -> int:
    if arguments == ["--self-test"]:
        return self_test()
    if len(arguments) != 1:
        print(__doc__)
        return 2
    problems = Checker(Path(arguments[0]).resolve()).run()
    print("\n".join(problems) or "all includes follow the layers")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
