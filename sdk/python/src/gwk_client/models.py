"""The schemas of the OpenAPI document."""

from ._generated.models import *  # noqa: F403
