"""Runs the receivers of docs/sdk-python.md, and compiles its other examples."""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook

PAGE = (Path(__file__).parents[3] / "docs/sdk-python.md").read_text()
BLOCKS = {heading: code for heading, code in re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?^```python\n(.*?)^```", PAGE, flags=re.M | re.S)}
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def sign(body: str) -> dict[str, str]:
    now = datetime.now(timezone.utc)
    return {"webhook-id": "evt_1", "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": Webhook(SECRET).sign("evt_1", now, body)}


BODY = json.dumps({"type": "instance.banned", "timestamp": "2026-11-30T00:00:00Z",
                   "data": {"instance_id": "ins_1", "timestamp": "2026-11-30T00:00:00Z", "code": None, "expires_at": None}})


def load(heading: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "receiver"}
    exec(BLOCKS[heading].replace("whsec_...", SECRET), names)
    return names


@pytest.mark.parametrize("heading", sorted(BLOCKS))
def test_compiles(heading: str) -> None:
    compile(BLOCKS[heading], heading, "exec")


def test_fastapi_receives_webhooks() -> None:
    from fastapi.testclient import TestClient

    client = TestClient(load("Receive webhooks with FastAPI")["app"])
    assert client.post("/webhooks", content=BODY, headers=sign(BODY)).status_code == 204
    assert client.post("/webhooks", content=BODY + " ", headers=sign(BODY)).status_code == 400


def test_django_receives_webhooks() -> None:
    import django
    from django.conf import settings
    from django.test import RequestFactory

    settings.configure(ALLOWED_HOSTS=["*"], DEFAULT_CHARSET="utf-8")
    django.setup()
    view = load("Receive webhooks with Django")["webhooks"]
    for body, status in ((BODY, 204), (BODY + " ", 400)):
        request = RequestFactory().post("/webhooks", body, "application/json", headers=sign(BODY))
        assert view(request).status_code == status
