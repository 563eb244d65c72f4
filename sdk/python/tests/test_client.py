"""Behaviour of the client without a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import datetime, timezone
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pytest
from gwk_client import AsyncGwk, ConnectionError_, Gwk, InvalidRequestError, PairingStep, RateLimitError
from gwk_client import ServerError, StreamEndedError, WebhookVerificationError, models, verify
from gwk_client._retry import plan_retry
from gwk_client.errors import problem_of, read_retry_after
from standardwebhooks import Webhook

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
TEXT = {"instance_id": "ins_1", "to": "5511987654321", "type": "text", "text": {"body": "Hi"}}
EVENT = {"type": "instance.banned", "timestamp": "2026-11-30T00:00:00Z", "instance_id": "ins_1",
         "data": {"instance_id": "ins_1", "timestamp": "2026-11-30T00:00:00Z", "code": None, "expires_at": None}}
Answer = Callable[[], httpx.Response]


def ok(body: object) -> Answer:
    return lambda: httpx.Response(200, json=body)


def refuse(status: int, code: str, headers: dict[str, str] | None = None, **more: object) -> Answer:
    body = {"type": f"http://docs/problems/{code}", "title": "No", "status": status, "detail": code, "request_id": "r1", **more}
    return lambda: httpx.Response(status, json=body, headers=headers)


def stream(text: str) -> Answer:
    return lambda: httpx.Response(200, text=text, headers={"Content-Type": "text/event-stream"})


def broken() -> httpx.Response:
    raise httpx.ReadError("reset")


class Script:
    """Answers requests in turn, and keeps them with the waits between them."""

    def __init__(self, *answers: Answer, max_wait: float = 60) -> None:
        self.requests: list[httpx.Request] = []
        self.waits: list[float] = []
        self._answers = list(answers)
        transport = httpx.MockTransport(self.answer)
        self.gwk = Gwk("http://gateway", "gwk_live_a", max_wait=max_wait, http={"transport": transport})
        self.gwk._transport.sleep = self.waits.append
        self.async_gwk = AsyncGwk("http://gateway", "gwk_live_a", http={"transport": transport})
        self.async_gwk._transport.sleep = self.sleep

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return self._answers[len(self.requests) - 1]()

    def header(self, name: str) -> list[str | None]:
        return [request.headers.get(name) for request in self.requests]


PASSING = [
    refuse(503, "engine-unavailable"),
    refuse(500, "internal-error"),
    refuse(429, "rate-limited"),
    refuse(409, "idempotency-in-progress"),
    broken,
]


@pytest.mark.parametrize("answer", PASSING)
def test_repeats_a_change_with_the_same_key(answer: Answer) -> None:
    script = Script(answer, lambda: httpx.Response(204))
    script.gwk.messages.react("msg_1", emoji="x")
    keys = script.header("idempotency-key")
    assert keys[0] is not None and len(keys[0]) == 36
    assert keys == [keys[0], keys[0]]


def test_repeats_in_asyncio_too() -> None:
    script = Script(*PASSING[:2], lambda: httpx.Response(204))
    asyncio.run(script.async_gwk.messages.react("msg_1", emoji="x"))
    assert len(script.requests) == 3 and len(set(script.header("idempotency-key"))) == 1


def test_does_not_repeat_a_change_without_a_key() -> None:
    script = Script(broken)
    with pytest.raises(ConnectionError_):
        script.gwk.messages.edit("msg_1", text="New", if_match='"1"')
    assert script.header("if-match") == ['"1"']


def test_sends_path_query_body_and_options() -> None:
    script = Script(*[lambda: httpx.Response(204)] * 3)
    script.gwk.instances.mark_read("ins/1", "5511", {"wa_message_ids": ["a"]}, idempotency_key="k", request_id="r")
    script.gwk.instances.set_presence("ins_1", "5511", models.PresenceUpdate(state="typing"))
    first, second = script.requests
    assert first.url.raw_path == b"/v1/instances/ins%2F1/chats/5511/read"
    assert json.loads(first.content) == {"wa_message_ids": ["a"]}
    assert [first.headers[name] for name in ("idempotency-key", "x-request-id", "authorization")] == ["k", "r", "Bearer gwk_live_a"]
    assert json.loads(second.content) == {"state": "typing"}


def test_writes_dates_of_bodies() -> None:
    script = Script(ok({"retried": 0}))
    script.gwk.webhook_endpoints.retry_failed_deliveries("whk_1", since=datetime(2026, 1, 1, tzinfo=timezone.utc))
    assert json.loads(script.requests[0].content) == {"since": "2026-01-01T00:00:00+00:00"}


@pytest.mark.parametrize(
    ("status", "code", "repeatable", "repeats"),
    [
        (429, "rate-limited", False, True),
        (409, "idempotency-in-progress", False, True),
        (409, "already-paired", True, False),
        (502, "pairing-failed", True, False),
        (500, "internal-error", True, True),
        (504, "http-504", True, True),
        (503, "engine-unavailable", False, False),
        (422, "validation-error", True, False),
    ],
)
def test_plans_retries(status: int, code: str, repeatable: bool, repeats: bool) -> None:
    error = problem_of({"type": f"http://docs/{code}"}, status, {})
    assert (plan_retry(error, repeatable=repeatable, attempt=1, max_wait=60) is not None) is repeats


def test_waits_for_retry_after_and_otherwise_longer_each_time() -> None:
    script = Script(refuse(429, "rate-limited", {"Retry-After": "7"}), refuse(503, "engine-unavailable"), broken)
    with pytest.raises(ConnectionError_):
        script.gwk.messages.get("msg_1")
    assert script.waits[0] == 7 and 0.5 <= script.waits[1] <= 1 and len(script.waits) == 2


@pytest.mark.parametrize(("max_wait", "seconds"), [(60, 7200), (6, 7)])
def test_leaves_long_waits_to_the_caller(max_wait: float, seconds: int) -> None:
    script = Script(
        refuse(429, "policy-new-contacts-limit", {"Retry-After": str(seconds)}), max_wait=max_wait
    )
    with pytest.raises(RateLimitError) as raised:
        script.gwk.messages.send(TEXT)
    assert raised.value.retry_after == seconds


@pytest.mark.parametrize(
    ("value", "seconds"), [("2026", 2026), ("0.5", 0.5), ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("x", None), (None, None)]
)
def test_reads_retry_after(value: str | None, seconds: float | None) -> None:
    assert read_retry_after(value) == seconds


def test_raises_problems_by_family() -> None:
    fields = [{"path": "text.body", "code": "custom", "message": "at least 1 characters"}]
    with pytest.raises(InvalidRequestError) as raised:
        Script(refuse(422, "validation-error", errors=fields)).gwk.messages.send(TEXT)
    error = raised.value
    assert (error.code, error.status, error.title, error.request_id, error.errors) == ("validation-error", 422, "No", "r1", fields)


def test_raises_answers_of_proxies() -> None:
    script = Script(lambda: httpx.Response(502, text="<html>"))
    with pytest.raises(ServerError) as raised:
        script.gwk.messages.get("msg_1", retries=0)
    assert raised.value.code == "http-502"


def opt_out(name: str) -> dict[str, Any]:
    return {"phone": name, "contact_id": None, "username": None, "source": "api", "keyword": None, "instance_id": None,
            "scope": "account", "created_at": "2026-11-30T00:00:00Z"}


def test_reads_all_pages() -> None:
    pages = [ok({"data": [opt_out("1"), opt_out("2")], "next_cursor": "c"}), ok({"data": [opt_out("3")], "next_cursor": None})]
    script = Script(*pages)
    assert [one.phone for one in script.gwk.opt_outs.list(limit=2)] == ["1", "2", "3"]
    assert [str(request.url) for request in script.requests] == [
        "http://gateway/v1/opt-outs?limit=2", "http://gateway/v1/opt-outs?limit=2&cursor=c"]

    async def read() -> list[str]:
        return [one.phone async for one in Script(*pages).async_gwk.opt_outs.list()]

    assert asyncio.run(read()) == ["1", "2", "3"]


FOLLOWED = (
    ok({"data": [], "next_cursor": "0", "has_more": False}),
    stream(": ping\n\n"),
    stream(f"id: 1\nevent: instance.banned\ndata: {json.dumps({'id': 'evt_1', **EVENT})}\n\n"),
    broken,
    stream('id: 2\nevent: new.type\ndata: {"id":"evt_2","type":"new.type"}\n\nevent: end\ndata: {"reason":"access_ended"}\n\n'),
)


def check_followed(script: Script, seen: list[tuple[Any, str]]) -> None:
    assert isinstance(seen[0][0], models.InstanceBannedEvent)
    assert seen[1] == ({"id": "evt_2", "type": "new.type"}, "2") and seen[0][1] == "1"
    assert [request.url.params.get("after") for request in script.requests] == ["now", "0", "0", "1", "1"]


def test_follows_over_broken_streams() -> None:
    script = Script(*FOLLOWED)
    seen: list[tuple[Any, str]] = []
    with pytest.raises(StreamEndedError, match="access_ended"):
        for item in script.gwk.events.follow():
            seen.append(item)
    check_followed(script, seen)


def test_follows_in_asyncio() -> None:
    script = Script(*FOLLOWED)
    seen: list[tuple[Any, str]] = []

    async def follow() -> None:
        async for item in script.async_gwk.events.follow():
            seen.append(item)

    with pytest.raises(StreamEndedError, match="access_ended"):
        asyncio.run(follow())
    check_followed(script, seen)


def pair(script: Script) -> list[PairingStep]:
    script.gwk.instances.start_pairing = lambda *_, **__: None  # type: ignore[method-assign, assignment]
    return list(script.gwk.instances.pair("ins_1"))


def test_yields_the_steps_of_a_pairing() -> None:
    steps = pair(Script(stream('event: qr\ndata: {"code":"x"}\n\nevent: connected\ndata: {"jid":"j"}\n\n')))
    assert [(step.step, step.code) for step in steps] == [("qr", "x"), ("connected", None)]


def test_raises_the_reason_of_a_failed_pairing() -> None:
    failed = '{"type":"http://docs/problems/pairing-failed","status":502,"detail":"codes_unread"}'
    with pytest.raises(ServerError, match="codes_unread"):
        pair(Script(stream(f"event: error\ndata: {failed}\n\n")))


@pytest.mark.parametrize("kind", ["bytes", "file", "path"])
def test_uploads_again_after_a_503(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"abc")
    file: Any = {"bytes": b"abc", "file": BytesIO(b"abc"), "path": path}[kind]
    script = Script(refuse(503, "engine-unavailable"), refuse(422, "media-rejected"))
    with pytest.raises(InvalidRequestError):
        script.gwk.media.upload(file, None if kind == "path" else "a.txt")
    for request in script.requests:
        assert b'name="file"; filename="a.txt"' in request.content and b"\r\n\r\nabc\r\n" in request.content
        assert b'name="filename"\r\n\r\na.txt' in request.content


def test_verifies_webhooks() -> None:
    body = json.dumps({key: value for key, value in EVENT.items() if key != "instance_id"})
    now = datetime.now(timezone.utc)
    headers = {"Webhook-Id": "evt_1", "webhook-timestamp": str(int(now.timestamp())),
               "webhook-signature": Webhook(SECRET).sign("evt_1", now, body)}
    for given in (body, body.encode()):
        event = verify(headers, given, SECRET)
        assert isinstance(event, models.InstanceBannedEvent) and (event.id, event.instance_id) == ("evt_1", "ins_1")
    with pytest.raises(WebhookVerificationError):
        Script().gwk.events.verify(headers, body + " ", SECRET)
