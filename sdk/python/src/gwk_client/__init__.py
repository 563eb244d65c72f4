"""Client of the gwk HTTP interface."""

from standardwebhooks import WebhookVerificationError

from . import models
from ._call import FileSource, StreamEvent
from ._client import AsyncGwk, Gwk, PairingStep, verify
from ._operations import Event
from ._transport import AsyncPages, Pages
from .errors import *  # noqa: F403

__all__ = [
    "AsyncGwk",
    "AsyncPages",
    "Event",
    "FileSource",
    "Gwk",
    "Pages",
    "PairingStep",
    "StreamEvent",
    "WebhookVerificationError",
    "models",
    "verify",
]
