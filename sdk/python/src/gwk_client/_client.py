from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import httpx
from standardwebhooks import Webhook

from ._call import StreamEvent
from ._operations import EVENTS, AsyncEvents, AsyncInstances, AsyncOperations, Event, Events, Instances, Operations
from ._retry import plan_retry
from ._transport import AsyncTransport, SyncTransport
from .errors import ConnectionError_, GwkError, StreamEndedError, problem_of

# Ends of a stream after which another one may work.
_PASSING = {"slow_reader", "unavailable"}


@dataclass(frozen=True)
class PairingStep:
    """A step of a pairing. Show `code` of `qr` as a QR code, or let the person type `code` of `code` on the phone."""

    step: str
    data: Mapping[str, Any]

    @property
    def code(self) -> str | None:
        return self.data.get("code")


def parse_event(data: dict[str, Any]) -> Event:
    """Returns the model of an event. A type that is newer than this client stays a dict."""
    model: Any = EVENTS.get(data["type"])
    return cast(Event, model.from_dict(data) if model else data)


def verify(headers: Mapping[str, Any], body: str | bytes, secret: str) -> Event:
    """Verifies the signature of a webhook request and returns its event. `id` is that of `webhook-id`.

    `body` is the raw body, before it is parsed. Raises `WebhookVerificationError`.
    """
    known = {name.lower(): value for name, value in headers.items()}
    event = Webhook(secret).verify(body, known)
    return parse_event({"instance_id": event["data"].get("instance_id"), **event, "id": known["webhook-id"]})


def _read_step(item: StreamEvent) -> PairingStep:
    if item.event == "error":
        raise problem_of(item.data, item.data.get("status", 502), {})
    return PairingStep(item.event, item.data)


def _wait_to_resume(error: GwkError | None, failures: int) -> float:
    """Returns the seconds to wait. Streams end when a process stops; another process continues them."""
    passing = error is None or isinstance(error, ConnectionError_)
    if isinstance(error, StreamEndedError):
        passing = error.code in _PASSING
    if not passing and error is not None:
        raise error
    return plan_retry(ConnectionError_(), repeatable=True, attempt=failures, max_wait=0) or 0


class _Events(Events):
    verify = staticmethod(verify)

    def follow(self, *, after: str = "now", **filters: Any) -> Iterator[tuple[Event, str]]:
        """Yields events with their cursors as they happen, and continues after broken connections.

        Each event comes at least once: keep the ids that you know. Store the cursor and pass it as `after` to continue.
        """
        failures = 0
        # A broken connection before the first event must not lose events.
        cursor = after if after != "now" else self.list(after="now", limit=1).page().next_cursor or after
        while True:
            failure: GwkError | None = None
            try:
                for item in self.stream(after=cursor, **filters):
                    if item.id is None:
                        continue
                    failures, cursor = 0, item.id
                    yield parse_event(item.data), cursor
            except (ConnectionError_, StreamEndedError) as error:
                failure = error
            failures += 1
            self._transport.sleep(_wait_to_resume(failure, failures))


class _AsyncEvents(AsyncEvents):
    verify = staticmethod(verify)

    async def follow(self, *, after: str = "now", **filters: Any) -> AsyncIterator[tuple[Event, str]]:
        """Yields events with their cursors as they happen, and continues after broken connections.

        Each event comes at least once: keep the ids that you know. Store the cursor and pass it as `after` to continue.
        """
        failures = 0
        cursor = after if after != "now" else (await self.list(after="now", limit=1).page()).next_cursor or after
        while True:
            failure: GwkError | None = None
            try:
                async for item in self.stream(after=cursor, **filters):
                    if item.id is None:
                        continue
                    failures, cursor = 0, item.id
                    yield parse_event(item.data), cursor
            except (ConnectionError_, StreamEndedError) as error:
                failure = error
            failures += 1
            await self._transport.sleep(_wait_to_resume(failure, failures))


class _Instances(Instances):
    def pair(self, instance_id: str, **request: Any) -> Iterator[PairingStep]:
        """Starts a pairing and yields its steps, until the phone is connected."""
        self.start_pairing(instance_id, **request)
        for item in self.stream_pairing(instance_id):
            yield _read_step(item)
            if item.event == "connected":
                return
        raise GwkError("The stream of the pairing ended before the phone was connected")


class _AsyncInstances(AsyncInstances):
    async def pair(self, instance_id: str, **request: Any) -> AsyncIterator[PairingStep]:
        """Starts a pairing and yields its steps, until the phone is connected."""
        await self.start_pairing(instance_id, **request)
        async for item in self.stream_pairing(instance_id):
            yield _read_step(item)
            if item.event == "connected":
                return
        raise GwkError("The stream of the pairing ended before the phone was connected")


def _settings(base_url: str, api_key: str, language: str, timeout: float) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {api_key}", "Accept-Language": language}
    return {"base_url": base_url, "headers": headers, "timeout": timeout}


class Gwk(Operations):
    """Client of a gateway. Each operation of the document is a method of its tag: `gwk.messages.send(...)`.

    `retries`: attempts after the first one. `max_wait`: seconds of the longest Retry-After that is waited for; after a
    longer one the error is raised at once. `timeout`: seconds without an answer. `language` of `message` of errors:
    `en` or `pt`. `http`: arguments of `httpx.Client`, such as `verify`, `proxy` or `transport`.
    """

    events: _Events
    instances: _Instances

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        retries: int = 2,
        max_wait: float = 60,
        timeout: float = 60,
        language: str = "en",
        http: Mapping[str, Any] | None = None,
    ) -> None:
        client = httpx.Client(**_settings(base_url, api_key, language, timeout), **(http or {}))
        self._transport = SyncTransport(client, retries, max_wait)
        super().__init__(self._transport)
        self.events = _Events(self._transport)
        self.instances = _Instances(self._transport)

    def __enter__(self) -> Gwk:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._transport.client.close()


class AsyncGwk(AsyncOperations):
    """The same client for asyncio: `await gwk.messages.send(...)`, `async for message in gwk.messages.list()`."""

    events: _AsyncEvents
    instances: _AsyncInstances

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        retries: int = 2,
        max_wait: float = 60,
        timeout: float = 60,
        language: str = "en",
        http: Mapping[str, Any] | None = None,
    ) -> None:
        client = httpx.AsyncClient(**_settings(base_url, api_key, language, timeout), **(http or {}))
        self._transport = AsyncTransport(client, retries, max_wait)
        super().__init__(self._transport)
        self.events = _AsyncEvents(self._transport)
        self.instances = _AsyncInstances(self._transport)

    async def __aenter__(self) -> AsyncGwk:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._transport.client.aclose()
