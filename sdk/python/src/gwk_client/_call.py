from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import ModuleType
from typing import Any, BinaryIO
from uuid import uuid4

import httpx

from ._generated.client import Client
from .errors import StreamEndedError

FileSource = bytes | str | os.PathLike[str] | BinaryIO
"""A file to upload: bytes, the path of a file, or an open binary file."""

# Parsing needs no connection.
_PARSER = Client(base_url="http://unused", raise_on_unexpected_status=True)


@dataclass(frozen=True)
class StreamEvent:
    """One event of a stream. Only event streams have an `id`, to resume after."""

    event: str
    data: Any
    id: str | None = None


@dataclass
class Call:
    """A request as an operation describes it."""

    module: ModuleType
    path: tuple[str, ...] = ()
    query: dict[str, Any] = field(default_factory=dict)
    body: object = None
    has_body: bool = False
    file: FileSource | None = None
    takes_key: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    is_stream: bool = False

    def prepare(self) -> Callable[[], dict[str, Any]]:
        """Returns a function that makes the arguments of httpx for each attempt: a path is opened again."""
        needs_body = self.has_body or self.file is not None
        request = self.module._get_kwargs(*self.path, **self.query, **({"body": _Body()} if needs_body else {}))
        headers = {**self.headers, **self._option_headers()}
        request = {name: request[name] for name in ("method", "url", "params") if name in request}
        if self.file is not None:
            source, filename = _read_file(self.file, self.body)
            return lambda: {**request, "headers": headers, **_form(source, filename)}
        if self.has_body and self.body is not None:
            request["content"] = json.dumps(self.body, default=_to_json)
            headers["Content-Type"] = "application/json"
        return lambda: {**request, "headers": headers}

    def _option_headers(self) -> dict[str, str]:
        names = {"if_match": "If-Match", "request_id": "X-Request-ID"}
        headers = {names[key]: value for key, value in self.options.items() if key in names and value is not None}
        if self.takes_key:
            headers["Idempotency-Key"] = self.options.get("idempotency_key") or str(uuid4())
        return headers

    def parse(self, response: httpx.Response) -> Any:
        return self.module._parse_response(client=_PARSER, response=response)


class _Body:
    """Stands for the body, which is made here, so that it may be a dict."""

    def to_dict(self) -> dict[str, Any]:
        return {}

    def to_multipart(self) -> list[Any]:
        return []


def merge_body(body: object, fields: Mapping[str, Any]) -> object:
    """Returns the JSON of a body given as a model, a mapping, or keywords."""
    if body is None:
        return dict(fields) if fields else None
    given = body if isinstance(body, Mapping) else _to_json(body)
    return {**given, **fields}


def _to_json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value.to_dict()


def _read_file(file: FileSource, filename: object) -> tuple[bytes | str | os.PathLike[str], str | None]:
    """A file object is read into memory, because a retry sends it again. A path is read at each attempt."""
    if isinstance(file, bytes):
        return file, str(filename) if filename else None
    name = file if isinstance(file, (str, os.PathLike)) else getattr(file, "name", None)
    base = os.path.basename(name) if isinstance(name, (str, os.PathLike)) else None
    return (file if isinstance(file, (str, os.PathLike)) else file.read()), str(filename) if filename else base


def _form(source: bytes | str | os.PathLike[str], filename: str | None) -> dict[str, Any]:
    content: bytes
    if isinstance(source, bytes):
        content = source
    else:
        with open(source, "rb") as opened:
            content = opened.read()
    data = {"filename": filename} if filename else {}
    return {"files": {"file": (filename or "file", content)}, "data": data}


class EventParser:
    """Collects the lines of server-sent events."""

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}

    def feed(self, line: str) -> Iterator[StreamEvent]:
        """Yields the event that an empty line ends. Comments, such as `: ping`, are no events."""
        if line:
            name, _, value = line.partition(":")
            self._fields[name] = value.removeprefix(" ")
            return
        fields, self._fields = self._fields, {}
        if "event" not in fields:
            return
        event = StreamEvent(fields["event"], json.loads(fields.get("data", "null")), fields.get("id"))
        if event.event == "end":
            raise StreamEndedError(event.data["reason"])
        yield event
