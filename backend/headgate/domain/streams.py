"""Names of the streams of the log: one per object and one per preemption round."""


def stream_of(kind: str, name: str, namespace: str = "") -> str:
    """The stream of an object: `kind/name`, in a namespace `kind/namespace/name`."""
    return f"{kind}/{namespace}/{name}" if namespace else f"{kind}/{name}"


LOG_STREAM = "log/history"
"""The stream of what happened to the log itself."""


ERASURE_STREAM = "log/erasures"
"""The stream of erasures of what was written."""


def workload_stream(key: str) -> str:
    """The stream of the workload with that key (`namespace/name`)."""
    return f"workload/{key}"


def round_stream(round_id: str) -> str:
    """The stream of a preemption round."""
    return f"round/{round_id}"


def kind_and_key(stream: str) -> tuple[str, str]:
    """The kind, and the name or `namespace/name`, that a stream is about."""
    kind, _, key = stream.partition("/")
    return kind, key
