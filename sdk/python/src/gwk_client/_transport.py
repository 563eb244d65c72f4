from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Generic, TypeVar

import httpx

from ._call import Call, EventParser, StreamEvent
from ._retry import plan_retry
from .errors import ConnectionError_, GwkError, TimeoutError_, problem_from

Page = TypeVar("Page")
Item = TypeVar("Item")


def _wrap(error: httpx.TransportError) -> ConnectionError_:
    kind = TimeoutError_ if isinstance(error, httpx.TimeoutException) else ConnectionError_
    wrapped = kind(f"No answer from the gateway: {error}")
    wrapped.__cause__ = error
    return wrapped


class _Attempts:
    """Decides about the attempts of one call."""

    def __init__(self, call: Call, retries: int, max_wait: float) -> None:
        self._make = call.prepare()
        given = call.options.get("retries")
        self._left = retries if given is None else given
        self._count = 0
        self._max_wait = max_wait
        self._repeatable = call.takes_key
        timeout = call.options.get("timeout")
        self._more = {} if timeout is None else {"timeout": timeout}

    def arguments(self) -> dict[str, Any]:
        self._count += 1
        made = self._make()
        self._repeatable = self._repeatable or made["method"] == "get"
        return {**made, **self._more}

    def wait_after(self, error: GwkError) -> float:
        """Returns the seconds to wait. Raises the error if there is no other attempt."""
        wait = plan_retry(
            error, repeatable=self._repeatable, attempt=self._count, max_wait=self._max_wait
        )
        if wait is None or self._count > self._left:
            raise error
        return wait


def next_query(query: dict[str, Any], page: Any) -> dict[str, Any] | None:
    """Returns the query of the page after this one; None at the end."""
    if not page.next_cursor:
        return None
    # A forward list continues with `after`, and ends when it has nothing new.
    is_forward = bool(query.get("after"))
    if is_forward and not page.data:
        return None
    return {**query, "after" if is_forward else "cursor": page.next_cursor}


class SyncTransport:
    """Sends requests and repeats them."""

    def __init__(self, client: httpx.Client, retries: int, max_wait: float) -> None:
        self.client, self._retries, self._max_wait = client, retries, max_wait
        self.sleep: Callable[[float], None] = time.sleep

    def call(self, call: Call) -> Any:
        return call.parse(self._send(call))

    def pages(self, call: Call) -> Pages[Any, Any]:
        return Pages(self, call)

    def stream(self, call: Call) -> Iterator[StreamEvent]:
        response = self._send(call)
        parser = EventParser()
        try:
            for line in response.iter_lines():
                yield from parser.feed(line)
        except httpx.TransportError as error:
            raise _wrap(error) from error
        finally:
            response.close()

    def _send(self, call: Call) -> httpx.Response:
        attempts = _Attempts(call, self._retries, self._max_wait)
        while True:
            try:
                return self._attempt(attempts.arguments(), call.is_stream)
            except GwkError as error:
                wait = attempts.wait_after(error)
            self.sleep(wait)

    def _attempt(self, arguments: dict[str, Any], is_stream: bool) -> httpx.Response:
        try:
            response = self.client.send(self.client.build_request(**arguments), stream=is_stream)
            if response.is_success:
                return response
            response.read()
        except httpx.TransportError as error:
            raise _wrap(error) from error
        raise problem_from(response)


class AsyncTransport:
    """Sends requests and repeats them."""

    def __init__(self, client: httpx.AsyncClient, retries: int, max_wait: float) -> None:
        self.client, self._retries, self._max_wait = client, retries, max_wait
        self.sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def call(self, call: Call) -> Any:
        return call.parse(await self._send(call))

    def pages(self, call: Call) -> AsyncPages[Any, Any]:
        return AsyncPages(self, call)

    async def stream(self, call: Call) -> AsyncIterator[StreamEvent]:
        response = await self._send(call)
        parser = EventParser()
        try:
            async for line in response.aiter_lines():
                for event in parser.feed(line):
                    yield event
        except httpx.TransportError as error:
            raise _wrap(error) from error
        finally:
            await response.aclose()

    async def _send(self, call: Call) -> httpx.Response:
        attempts = _Attempts(call, self._retries, self._max_wait)
        while True:
            try:
                return await self._attempt(attempts.arguments(), call.is_stream)
            except GwkError as error:
                wait = attempts.wait_after(error)
            await self.sleep(wait)

    async def _attempt(self, arguments: dict[str, Any], is_stream: bool) -> httpx.Response:
        try:
            response = await self.client.send(self.client.build_request(**arguments), stream=is_stream)
            if response.is_success:
                return response
            await response.aread()
        except httpx.TransportError as error:
            raise _wrap(error) from error
        raise problem_from(response)


class Pages(Generic[Page, Item]):
    """Iterate over it for the items of all pages. `page()` returns the first page."""

    def __init__(self, transport: SyncTransport, call: Call) -> None:
        self._transport, self._call = transport, call

    def page(self) -> Page:
        page: Page = self._transport.call(self._call)
        return page

    def __iter__(self) -> Iterator[Item]:
        query: dict[str, Any] | None = self._call.query
        while query is not None:
            page = self._transport.call(Call(**{**self._call.__dict__, "query": query}))
            yield from page.data
            query = next_query(query, page)


class AsyncPages(Generic[Page, Item]):
    """Iterate over it for the items of all pages. `page()` returns the first page."""

    def __init__(self, transport: AsyncTransport, call: Call) -> None:
        self._transport, self._call = transport, call

    async def page(self) -> Page:
        page: Page = await self._transport.call(self._call)
        return page

    async def __aiter__(self) -> AsyncIterator[Item]:
        query: dict[str, Any] | None = self._call.query
        while query is not None:
            page = await self._transport.call(Call(**{**self._call.__dict__, "query": query}))
            for item in page.data:
                yield item
            query = next_query(query, page)
