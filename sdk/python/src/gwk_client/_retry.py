from __future__ import annotations

import random

from .errors import ConnectionError_, GwkError, ProblemError

def plan_retry(error: GwkError, *, repeatable: bool, attempt: int, max_wait: float) -> float | None:
    """Returns the seconds to wait before the next attempt; None: do not repeat.

    `repeatable`: a repeat does nothing twice: a GET, or a request with an Idempotency-Key.
    `attempt`: number of attempts so far. `max_wait`: a longer Retry-After
    is for the caller to decide.
    """
    backoff = min(0.5 * 2 ** min(attempt - 1, 10), 8) * (0.5 + random.random() / 2)
    if isinstance(error, ConnectionError_):
        return backoff if repeatable else None
    if not isinstance(error, ProblemError) or not _is_temporary(error, repeatable):
        return None
    told = error.retry_after or 0
    return max(told, backoff) if told <= max_wait else None


def _is_temporary(error: ProblemError, repeatable: bool) -> bool:
    # Both refuse before they do anything.
    if error.status == 429 or error.code == "idempotency-in-progress":
        return True
    # The answer of the phone or of the network: another attempt is a decision of the caller.
    if error.code == "pairing-failed":
        return False
    return error.status >= 500 and repeatable
