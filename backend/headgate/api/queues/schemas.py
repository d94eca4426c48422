"""The body of the request to stop a queue."""

from typing import Annotated, Literal

import msgspec

from headgate.api.schemas import RequestBody, Timestamp


class StopRequest(RequestBody, kw_only=True, frozen=True):
    """Why the queue stops, whether what runs is evicted, and until when."""

    reason: Annotated[str, msgspec.Meta(max_length=1024)] = ""
    policy: Literal["Hold", "HoldAndDrain"] = "Hold"
    expires_at: Timestamp | None = None
