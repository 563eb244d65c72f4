"""Writes gwk_client/_operations.py: a typed method for each operation around the functions of openapi-python-client.

Usage: generate.py <folder of gwk_client> <OpenAPI document> <table of operations>
"""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

package, document_file, table_file = map(Path, sys.argv[1:])
document: dict[str, Any] = json.loads(document_file.read_text())
generated = package / "_generated"
OPTIONS = {"timeout": "float", "retries": "int", "request_id": "str"}
HEADERS = {"idempotency_key", "if_match", "x_request_id", "accept_language"}


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|-", "_", name).lower()


def upper_camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def find_functions(file: Path) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef)}


def union_members(text: str) -> list[str]:
    return [member.strip() for member in text.split(" | ")]


def find_item(page: str) -> str:
    """Returns the type of the items of a page."""
    tree = ast.parse((generated / "models" / f"{snake(page)}.py").read_text())
    model = next(node for node in tree.body if isinstance(node, ast.ClassDef))
    data = next(node for node in model.body if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "data")
    return ast.unparse(data.annotation).removeprefix("list[").removesuffix("]")


class Operation:
    def __init__(self, group: str, row: dict[str, str]) -> None:
        self.name, self.answer, self.input, self.group = snake(row["name"]), row["answer"], row["input"], group
        self.module = snake(row["operationId"])
        self.summary = row["summary"]
        functions = find_functions(generated / "api" / group / f"{self.module}.py")
        kwargs = functions["_get_kwargs"].args
        self.path = [argument.arg for argument in kwargs.args]
        keywords = {argument.arg: ast.unparse(argument.annotation) for argument in kwargs.kwonlyargs if argument.annotation}
        self.takes_key = "idempotency_key" in keywords
        self.body = re.sub(r" \| (None|Unset)|(None|Unset) \| ", "", keywords.pop("body", ""))
        self.headers = [name for name in ("idempotency_key", "if_match") if name in keywords]
        self.query = {name: kind for name, kind in keywords.items() if name not in HEADERS}
        returns = ast.unparse(functions["_parse_response"].returns or ast.Constant(None))
        self.result = " | ".join(one for one in union_members(returns) if one not in ("ProblemOut", "None"))
        self.result = "None" if self.result == "Any" else self.result

    def write(self, is_async: bool) -> str:
        prefix = "Async" if is_async else ""
        arguments = ["self", *(f"{name}: str" for name in self.path)]
        options = OPTIONS | {name: "str" for name in self.headers}
        after = [f"{name}: {kind} = UNSET" for name, kind in self.query.items()]
        after += [f"{name}: {kind} | None = None" for name, kind in options.items()]
        given = [f"({''.join(f'{name}, ' for name in self.path)})"]
        given.append("{" + ", ".join(f'"{name}": {name}' for name in self.query) + "}")
        if self.input == "form":
            arguments += ["file: FileSource", "filename: str | None = None"]
            given += ["file=file", "body=filename"]
        if self.input == "body":
            arguments.append(f"body: {self.body} | Mapping[str, Any] | None = None")
            after.append("**fields: Any")
            given += ["has_body=True", "body=merge_body(body, fields)"]
        given += [f"takes_key={self.takes_key}", f"is_stream={self.answer == 'stream'}"]
        given.append("options={" + ", ".join(f'"{name}": {name}' for name in options) + "}")
        call = f"Call({self.group}_{self.module}, {', '.join(given)})"
        method, result, wait = "call", self.result, "await " if is_async else ""
        if self.answer != "one":
            wait, is_page = "", self.answer == "page"
            method = "pages" if is_page else "stream"
            result = f"{prefix}Pages[{result}, {find_item(result)}]" if is_page else f"{prefix}Iterator[StreamEvent]"
        start = "async def" if is_async and self.answer == "one" else "def"
        body = [f'"""{self.summary}."""', f"answer: {result} = {wait}self._transport.{method}({call})", "return answer"]
        lines = "".join(f"        {line}\n" for line in body)
        return f"    {start} {self.name}({', '.join([*arguments, '*', *after])}) -> {result}:\n{lines}"


def write_group(group: str, operations: list[Operation], is_async: bool) -> str:
    prefix, transport = ("Async", "AsyncTransport") if is_async else ("", "SyncTransport")
    init = f"    def __init__(self, transport: {transport}) -> None:\n        self._transport = transport\n"
    # Annotations of methods after one with the name `list` would mean that method.
    methods = sorted(operations, key=lambda operation: operation.name == "list")
    bodies = [init, *(operation.write(is_async).replace(" list[", " List[") for operation in methods)]
    return f"class {prefix}{upper_camel(group)}:\n" + "\n".join(bodies)


def write_operations(groups: list[str], is_async: bool) -> str:
    prefix, transport = ("Async", "AsyncTransport") if is_async else ("", "SyncTransport")
    lines = [f"        self.{group} = {prefix}{upper_camel(group)}(transport)\n" for group in groups]
    return f"class {prefix}Operations:\n    def __init__(self, transport: {transport}) -> None:\n{''.join(lines)}"


def write_events() -> str:
    event = document["components"]["schemas"]["EventOut"]
    models = {kind: ref.rsplit("/", 1)[-1] for kind, ref in event["discriminator"]["mapping"].items()}
    rows = "".join(f'    "{kind}": {model},\n' for kind, model in models.items())
    union = "Event = Union[\n" + "".join(f"    {model},\n" for model in dict.fromkeys(models.values())) + "]\n"
    return f"EVENTS: dict[str, type[Any]] = {{\n{rows}}}\n\n{union}"


def main() -> None:
    table: dict[str, list[dict[str, str]]] = json.loads(table_file.read_text())
    groups = {snake(group): [Operation(snake(group), row) for row in rows] for group, rows in table.items()}
    imports = [f"from ._generated.api.{one.group} import {one.module} as {one.group}_{one.module}"
               for operations in groups.values() for one in operations]
    heads = ["import datetime", "from collections.abc import AsyncIterator, Iterator, Mapping",
             "from typing import Any, List, Union", *imports, "from ._generated.models import *",
             "from ._generated.types import UNSET, Unset", "from ._call import Call, FileSource, StreamEvent, merge_body",
             "from ._transport import AsyncPages, AsyncTransport, Pages, SyncTransport"]
    parts = ["from __future__ import annotations\n\n" + "\n".join(heads) + "\n", write_events()]
    for is_async in (False, True):
        parts += [write_group(group, operations, is_async) for group, operations in groups.items()]
        parts.append(write_operations(list(groups), is_async))
    (package / "_operations.py").write_text("\n\n".join(parts))
    # `Self` is in `typing` from Python 3.11 on.
    for file in (generated / "models").glob("*.py"):
        text = file.read_text()
        compatible = re.sub(r"^(from typing import .*)\bSelf, ", r"from typing_extensions import Self\n\1", text, flags=re.M)
        if compatible != text:
            file.write_text(compatible)


main()
