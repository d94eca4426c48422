"""Events of sessions into pods: they say that there was one, and change no state."""

import msgspec


class WorkloadSessionOpened(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.session_opened"
):
    """A user opened a session into a pod; nothing of its content is recorded."""

    session: str
    attempt: int
    pod_set: str
    index: int
    run: int
    user: str
