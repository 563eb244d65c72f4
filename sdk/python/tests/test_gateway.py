"""Against a running gateway: GWK_URL, GWK_API_KEY, GWK_INSTANCE (a connected sandbox), GWK_DOCUMENT (the description)."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
import threading
from collections.abc import Iterator
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

import httpx
import pytest
from gwk_client import AsyncGwk, Gwk, ProblemError, models

if "GWK_URL" not in os.environ:
    pytest.skip("no gateway", allow_module_level=True)

URL, KEY, INSTANCE = (os.environ[name] for name in ("GWK_URL", "GWK_API_KEY", "GWK_INSTANCE"))
FRIEND, PHONE = "5511987650177", "5511987650178"
LIMIT_S = 50
PATHS: dict[str, dict[str, Any]] = json.loads(Path(os.environ["GWK_DOCUMENT"]).read_text())["paths"]
# More literal paths come before those with parameters.
PATTERNS = {path: re.compile(re.sub(r"\{\w+\}", "[^/]+", path)) for path in sorted(PATHS, key=lambda path: path.count("{"))}
OPERATIONS = {f"{method} {path}" for path, item in PATHS.items() for method in item}


class Recorder:
    """Notes the operation of each answer, and refuses a status that the document does not have."""

    def __init__(self) -> None:
        self.called: set[str] = set()

    def note(self, response: httpx.Response) -> None:
        path = next(path for path, pattern in PATTERNS.items() if pattern.fullmatch(response.request.url.path))
        method = response.request.method.lower()
        assert str(response.status_code) in PATHS[path][method]["responses"], f"{method} {path}: {response.status_code}"
        self.called.add(f"{method} {path}")

    async def note_async(self, response: httpx.Response) -> None:
        self.note(response)


recorder = Recorder()


@pytest.fixture(scope="module")
def gwk() -> Iterator[Gwk]:
    with Gwk(URL, KEY, http={"event_hooks": {"response": [recorder.note]}}) as client:
        yield client


@pytest.fixture(scope="module")
def webhooks() -> Iterator[tuple[str, Queue[tuple[dict[str, str], bytes]]]]:
    """A server for webhooks: its address, and the requests that arrived."""
    calls: Queue[tuple[dict[str, str], bytes]] = Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            calls.put((dict(self.headers), self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/webhooks", calls
    server.shutdown()
    server.server_close()


def code_of(call: Any) -> str:
    with pytest.raises(ProblemError) as raised:
        call()
    return raised.value.code


def send(gwk: Gwk, body: str) -> models.AcceptedMessageOut:
    return gwk.messages.send(instance_id=INSTANCE, to=FRIEND, type="text", text={"body": body})


def test_sends_follows_and_verifies(gwk: Gwk, webhooks: tuple[str, Queue[tuple[dict[str, str], bytes]]]) -> None:
    url, calls = webhooks
    endpoint = gwk.webhook_endpoints.create(url=url, event_types=["message.sent"])
    cursor = gwk.events.list(after="now", limit=1).page().next_cursor
    assert cursor is not None and isinstance(endpoint.secret, str)
    sent = send(gwk, "One")
    for event, _ in gwk.events.follow(after=cursor, type_="message.sent"):
        if isinstance(event, models.MessageSentEvent) and event.data.message_id == sent.id:
            break
    headers, body = calls.get(timeout=LIMIT_S)
    received = gwk.events.verify(headers, body, endpoint.secret)
    assert isinstance(received, models.MessageSentEvent)
    assert (received.id, received.data.message_id) == (event.id, sent.id)
    assert gwk.events.get(received.id).type_ == "message.sent"
    assert any(item.id for item in first(gwk.events.stream(after="oldest")))
    # Changes of a message that has left.
    gwk.messages.edit(sent.id, text="Two")
    gwk.messages.react(sent.id, emoji="👍")
    gwk.messages.delete(sent.id)
    assert gwk.messages.get(sent.id).id == sent.id
    manage_endpoint(gwk, endpoint.id)


def first(items: Iterator[Any]) -> list[Any]:
    for item in items:
        return [item]
    return []


def manage_endpoint(gwk: Gwk, id: str) -> None:
    gwk.webhook_endpoints.update(id, description="python")
    assert gwk.webhook_endpoints.get(id).description == "python"
    assert id in [one.id for one in gwk.webhook_endpoints.list()]
    gwk.webhook_endpoints.rotate_secret(id)
    delivery = gwk.webhook_endpoints.test(id)
    assert delivery.id in [one.id for one in gwk.webhook_endpoints.list_deliveries(id)]
    with pytest.raises(ProblemError):
        gwk.webhook_deliveries.retry("dlv_" + "0" * 32)
    gwk.webhook_endpoints.retry_failed_deliveries(id, since=datetime(2026, 1, 1, tzinfo=timezone.utc))
    gwk.webhook_endpoints.delete(id)


def test_pages_through_messages_and_repeats_with_a_key(gwk: Gwk) -> None:
    body = {"instance_id": INSTANCE, "to": FRIEND, "type": "text", "text": {"body": "Once"}}
    once = gwk.messages.send(body, idempotency_key="python-1")
    assert gwk.messages.send(body, idempotency_key="python-1").id == once.id
    other = send(gwk, "Other")
    ids = [message.id for message in gwk.messages.list(instance_id=INSTANCE, limit=1)]
    assert {once.id, other.id} <= set(ids) and len(ids) == len(set(ids))


def test_uploads(gwk: Gwk, tmp_path: Path) -> None:
    pdf = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf)
    with path.open("rb") as opened:
        for file in (path, opened, pdf):
            media = gwk.media.upload(file, "a.pdf")  # type: ignore[arg-type]
            assert (media.mimetype, media.filename) == ("application/pdf", "a.pdf")
    assert gwk.media.get(media.id).size == len(pdf)


def test_manages_and_pairs_instances(gwk: Gwk) -> None:
    id = gwk.instances.create(name="python first", kind="sandbox").id
    gwk.instances.update(id, name="renamed")
    assert gwk.instances.get(id).name == "renamed"
    assert gwk.instances.get_health(id).instance_id == id
    gwk.instances.get_availability(id)
    gwk.instances.get_policy(id)
    assert id in [one.id for one in gwk.instances.list()]
    assert code_of(lambda: gwk.instances.confirm_passkey(id)) == "passkey-not-awaited"
    credential = {"id": "AQ", "rawId": "AQ", "type": "public-key", "response": {}}
    code_of(lambda: gwk.instances.answer_passkey(id, credential=credential))
    gwk.instances.get_pairing(id)
    gwk.instances.restart(id)
    gwk.instances.delete(id)
    assert code_of(lambda: first(gwk.instances.pair(INSTANCE))) == "already-paired"
    assert [item.event for item in first(gwk.instances.stream_pairing(INSTANCE))] == ["connected"]


def test_reads_contacts_and_groups(gwk: Gwk) -> None:
    assert gwk.instances.check_contact(INSTANCE, FRIEND).exists
    assert list(gwk.instances.list_groups(INSTANCE)) == []
    code_of(lambda: gwk.instances.get_group(INSTANCE, "120363041234567890@g.us"))
    inbound = gwk.instances.simulate_inbound(INSTANCE, {"from": FRIEND, "text": "Hello"})
    gwk.instances.mark_read(INSTANCE, FRIEND, wa_message_ids=[inbound.wa_message_id])
    (conversation,) = [one for one in gwk.conversations.list(search=FRIEND) if one.instance_id == INSTANCE]
    assert conversation.unread_count == 0
    assert gwk.conversations.get(conversation.id) == conversation
    assert {one.to for one in gwk.messages.list(conversation=conversation.id)} == {FRIEND}
    assert FRIEND in [one.phone for one in gwk.contacts.list(instance_id=INSTANCE)]
    gwk.instances.set_presence(INSTANCE, FRIEND, state="typing")
    assert gwk.status.get_interactive().formats


def test_records_opt_outs(gwk: Gwk) -> None:
    gwk.opt_outs.create(phone=PHONE)
    assert [one.phone for one in gwk.opt_outs.list(phone=PHONE)] == [PHONE]
    gwk.opt_outs.delete(PHONE)


def test_has_logged_out_last(gwk: Gwk) -> None:
    id = gwk.instances.create(name="python second", kind="sandbox").id
    code_of(lambda: gwk.instances.logout("ins_" + "0" * 32))
    gwk.instances.delete(id)


def test_has_called_every_operation() -> None:
    assert OPERATIONS - recorder.called == set()


UNKNOWN = {"instance_id": "ins_", "message_id": "msg_", "event_id": "evt_", "media_id": "med_", "webhook_endpoint_id": "whe_"}


def test_calls_every_operation_in_asyncio() -> None:
    """With ids that do not exist. Each answer has a documented status and can be read."""
    notes = Recorder()

    async def call_all() -> None:
        async with AsyncGwk(URL, KEY, http={"event_hooks": {"response": [notes.note_async]}}) as gwk:
            for group in [value for key, value in vars(gwk).items() if key != "_transport"]:
                for name, method in inspect.getmembers(group, inspect.ismethod):
                    if not name.startswith("_") and name not in ("follow", "pair"):
                        await call_one(method)
            async for _ in gwk.events.follow(after="oldest"):
                break

    asyncio.run(call_all())
    assert OPERATIONS - notes.called == set()


async def call_one(method: Any) -> None:
    parameters = inspect.signature(method).parameters.values()
    needed = [one.name for one in parameters if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
    arguments = [b"" if name == "file" else UNKNOWN.get(name, "x_") + "0" * 32 for name in needed]
    try:
        # A stream from the end would wait for an event.
        answer = method(*arguments, **({"after": "oldest"} if method.__name__ == "stream" else {}))
        if inspect.isawaitable(answer):
            await answer
        else:
            async for _ in answer:
                break
    except ProblemError:
        pass  # the recorder has checked its status
