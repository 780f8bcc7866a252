"""Renders the chart's templates without Helm: the part of its language that they use.

    chart.py [KEY.KEY=YAML...]   prints the manifests with these values changed
"""

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Callable

import yaml

CHART = Path(__file__).resolve().parents[2] / "configs/kubernetes/chart"
ACTION = re.compile(r"\{\{(-?)\s*(.*?)\s*(-?)\}\}", re.DOTALL)
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[()|]|[^\s()|]+')


class TemplateError(Exception):
    """The template uses what this renderer, and so probably a typing error, does not know."""


def to_yaml(value) -> str:
    return yaml.safe_dump(value, default_flow_style=False).removesuffix("\n...\n").removesuffix("\n")


def text(value) -> str:
    return {True: "true", False: "false", None: ""}.get(value) if value is None or value is True or value is False else str(value)


def indent(width: int, value: str) -> str:
    return "\n".join(" " * width + line for line in value.split("\n"))


FUNCTIONS: dict[str, Callable] = {
    "add": lambda *numbers: sum(numbers),
    "contains": lambda part, whole: part in whole,
    "default": lambda other, value="": value or other,
    "nindent": lambda width, value: "\n" + indent(width, value),
    "not": lambda value: not value,
    "print": lambda *values: "".join(map(text, values)),
    "printf": lambda form, *values: form % values,
    "quote": lambda value: json.dumps(text(value)),
    "sha256sum": lambda value: hashlib.sha256(value.encode()).hexdigest(),
    "toJson": lambda value: json.dumps(value, separators=(",", ":")),
    "toYaml": to_yaml,
    "trimSuffix": lambda suffix, value: value.removesuffix(suffix),
    "trunc": lambda length, value: value[:length],
}


class Parser:
    """Turns a template into nodes: texts, (action, ...) and blocks."""

    def __init__(self, source: str) -> None:
        self.items: list[tuple[str, str]] = []
        at = 0
        strip = False
        for match in ACTION.finditer(source):
            before = source[at:match.start()]
            before = before.lstrip() if strip else before
            self.items += [("text", before.rstrip() if match[1] else before), ("action", match[2])]
            strip, at = bool(match[3]), match.end()
        self.items.append(("text", source[at:].lstrip() if strip else source[at:]))
        self.at = 0

    def block(self) -> tuple[list, str]:
        """Nodes up to the `else` or `end` of this block, and which of them it was."""
        nodes: list = []
        while self.at < len(self.items):
            kind, value = self.items[self.at]
            self.at += 1
            word, _, rest = value.partition(" ")
            if kind == "text":
                nodes.append(("text", value))
            elif value in ("end", "else"):
                return nodes, value
            elif word in ("if", "with", "range", "define"):
                body, ended_by = self.block()
                other = self.block()[0] if ended_by == "else" else []
                nodes.append((word, rest, body, other))
            else:
                nodes.append(("show", value))
        return nodes, ""


class Chart:
    def __init__(self, values: dict | None = None, release: str = "smg", namespace: str = "default") -> None:
        facts = yaml.safe_load((CHART / "Chart.yaml").read_text())
        self.root = {
            "Values": merged(yaml.safe_load((CHART / "values.yaml").read_text()), values or {}),
            "Release": {"Name": release, "Namespace": namespace, "Service": "Helm"},
            "Chart": {"Name": facts["name"], "Version": facts["version"], "AppVersion": facts["appVersion"]},
            "Template": {"BasePath": "smg/templates"},
        }
        self.defined: dict[str, list] = {}
        self.files = {path.name: Parser(path.read_text()).block()[0]
                      for path in sorted((CHART / "templates").iterdir())}
        for nodes in self.files.values():
            self.defined |= {json.loads(node[1]): node[2] for node in nodes if node[0] == "define"}
        self.defined |= {f"smg/templates/{name}": nodes for name, nodes in self.files.items()}

    def texts(self) -> dict[str, str]:
        """Each template's output, by the name of its file."""
        return {name: self.render(nodes, self.root, {"$": self.root}) for name, nodes in self.files.items()}

    def manifests(self) -> list[dict]:
        return [document for text_ in self.texts().values() for document in yaml.safe_load_all(text_) if document]

    def render(self, nodes: list, dot, names: dict) -> str:
        return "".join(self.render_node(node, dot, names) for node in nodes)

    def render_node(self, node: tuple, dot, names: dict) -> str:
        kind, rest = node[:2]
        if kind == "text":
            return rest
        if kind == "define":
            return ""
        if kind == "show":
            return text(self.value(rest, dot, names))
        _, _, body, other = node
        if kind == "range":
            variables, expression = (part.strip() for part in rest.split(":="))
            key, item = (name.strip() for name in variables.split(","))
            pairs = sorted(self.value(expression, dot, names).items())
            return "".join(self.render(body, v, {**names, key: k, item: v}) for k, v in pairs)
        value = self.value(rest, dot, names)
        if not value:
            return self.render(other, dot, names)
        return self.render(body, value if kind == "with" else dot, names)

    def value(self, expression: str, dot, names: dict):
        tokens = TOKEN.findall(expression)
        value = self.pipeline(tokens, dot, names)
        if tokens:
            raise TemplateError(f"unexpected {tokens[0]} in {expression}")
        return value

    def pipeline(self, tokens: list[str], dot, names: dict):
        value = self.call(tokens, dot, names, [])
        while tokens and tokens[0] == "|":
            tokens.pop(0)
            value = self.call(tokens, dot, names, [value])
        return value

    def call(self, tokens: list[str], dot, names: dict, last: list):
        first = tokens[0]
        if first == "include" or first in FUNCTIONS:
            tokens.pop(0)
            arguments = []
            while tokens and tokens[0] not in ("|", ")"):
                arguments.append(self.operand(tokens, dot, names))
            if first == "include":
                return self.render(self.defined[arguments[0]], arguments[1], {"$": arguments[1]})
            return FUNCTIONS[first](*arguments, *last)
        return self.operand(tokens, dot, names)

    def operand(self, tokens: list[str], dot, names: dict):
        token = tokens.pop(0)
        if token == "(":
            value = self.pipeline(tokens, dot, names)
            if tokens.pop(0) != ")":
                raise TemplateError("missing )")
            return value
        if token.startswith('"'):
            return json.loads(token)
        if token.isdigit():
            return int(token)
        start, _, path = token.partition(".")
        if start and start not in names:
            raise TemplateError(f"unknown: {token}")
        value = names[start] if start else dot
        for key in filter(None, path.split(".")):
            if key not in value:
                raise TemplateError(f"no value {token}")
            value = value[key]
        return value


def merged(base: dict, changes: dict) -> dict:
    """As Helm merges values: maps by key, all else as a whole."""
    out = dict(base)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(out.get(key), dict)
        out[key] = merged(out[key], value) if both else value
    return out


if __name__ == "__main__":
    changed: dict = {}
    for argument in sys.argv[1:]:
        path, _, value = argument.partition("=")
        change = yaml.safe_load(value)
        for key in reversed(path.split(".")):
            change = {key: change}
        changed = merged(changed, change)
    print("---\n".join(output.strip() + "\n" for output in Chart(changed).texts().values() if output.strip()))
