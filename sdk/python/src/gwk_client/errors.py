"""Every error that the client raises."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

import httpx


class GwkError(Exception):
    """Base of all errors of this client."""


class ConnectionError_(GwkError):
    """No answer arrived: the connection broke, or the gateway could not be reached. `__cause__` has the reason."""


class TimeoutError_(ConnectionError_):
    """No answer arrived within `timeout`."""


class StreamEndedError(GwkError):
    """The stream of events ended; `code` is the reason, such as `access_ended`."""

    def __init__(self, code: str) -> None:
        super().__init__(f"The stream ended: {code}")
        self.code = code


class ProblemError(GwkError):
    """An error answer (RFC 9457). Branch on `code`: https://github.com/gwk-dev/gwk/blob/main/docs/errors.md"""

    def __init__(self, body: Mapping[str, Any], status: int, headers: Mapping[str, str]) -> None:
        self.status = status
        self.type: str = body.get("type", "about:blank")
        """Address of the page that explains the code."""
        self.code: str = self.type.rsplit("/", 1)[-1] if "type" in body else f"http-{status}"
        """Stable code, such as `contact-opted-out`."""
        self.title: str | None = body.get("title")
        self.detail: str | None = body.get("detail")
        self.errors: list[dict[str, str]] = body.get("errors", [])
        """The wrong fields, for `validation-error`: path, code and message."""
        self.request_id: str | None = body.get("request_id") or headers.get("x-request-id")
        """Quote it when you contact support."""
        self.retry_after = read_retry_after(headers.get("retry-after"))
        """Seconds to wait before a retry."""
        self.required_scope: str | None = body.get("required_scope")
        """The missing scope, for `insufficient-scope`."""
        super().__init__(self.detail or self.title or f"HTTP {status}")


class AuthenticationError(ProblemError):
    """401: the key is missing, unknown or revoked."""


class PermissionDeniedError(ProblemError):
    """403: the key may not do this, or the account is suspended."""


class NotFoundError(ProblemError):
    """404 and 410: the resource does not exist, or the key has no access to it."""


class ConflictError(ProblemError):
    """409 and 412: the state of the resource does not permit it."""


class InvalidRequestError(ProblemError):
    """400, 413, 422 and other 4xx: correct the request first."""


class RateLimitError(ProblemError):
    """429: a limit was reached; `retry_after` says when to try again."""


class ServerError(ProblemError):
    """5xx: the gateway or the network failed."""


_CLASSES: dict[int, type[ProblemError]] = {
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    410: NotFoundError,
    412: ConflictError,
    429: RateLimitError,
}


def problem_of(body: object, status: int, headers: Mapping[str, str]) -> ProblemError:
    """Makes the error of a problem."""
    found = _CLASSES.get(status, ServerError if status >= 500 else InvalidRequestError)
    return found(body if isinstance(body, dict) else {}, status, headers)


def problem_from(response: httpx.Response) -> ProblemError:
    """Makes the error of a read answer. A proxy may answer without a problem."""
    try:
        body = response.json()
    except ValueError:
        body = None
    return problem_of(body, response.status_code, response.headers)


def read_retry_after(value: str | None) -> float | None:
    """Reads seconds or a date."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(timezone.utc)).total_seconds())
    except (TypeError, ValueError):
        return None
