"""The wait for ready pods, and lengths of time, as several kinds of manifests have them."""

from headgate.adapters.manifests.durations import seconds_of
from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.parsing.field_aliases import either
from headgate.domain.kinds.wait_for_pods_ready import RequeuingStrategy, WaitForPodsReady


def read_wait(fields: Fields) -> WaitForPodsReady:
    """The wait for pods to become ready; a timeout of 0 is the usual one, as in Kueue."""
    strategy = fields.child_or_empty("requeuingStrategy")
    usual = RequeuingStrategy()
    requeuing = RequeuingStrategy(
        timestamp=strategy.choice("timestamp", ("Eviction", "Creation"), usual.timestamp),
        backoff_limit_count=_limit_count(strategy),
        backoff_base_seconds=strategy.integer("backoffBaseSeconds", usual.backoff_base_seconds),
        backoff_max_seconds=strategy.integer("backoffMaxSeconds", usual.backoff_max_seconds),
        retry_limit_seconds=_length(strategy, "maxBackOffRetryTimeout"),
        reset_after_seconds=_length(strategy, "backoffResetAfter"),
    )
    strategy.reject_unknown()
    timeout = read_seconds(fields, "timeout")
    read = WaitForPodsReady(
        timeout_seconds=timeout or WaitForPodsReady().timeout_seconds,
        recovery_timeout_seconds=read_seconds(fields, "recoveryTimeout"),
        requeuing_strategy=requeuing,
    )
    fields.reject_unknown()
    return read


def _limit_count(strategy: Fields) -> int | None:
    """The count under Kueue's name, or under the one of KEP-1282."""
    read = strategy.optional_integer
    return either(strategy, "backoffLimitCount", "maxBackOffRetryCount", read)


def _length(strategy: Fields, name: str) -> int | None:
    """A length of time, where a bare number is seconds (KEP-1282 has no unit)."""
    value = strategy.raw(name)
    return value if type(value) is int else read_seconds(strategy, name)


def read_seconds(fields: Fields, name: str) -> int | None:
    """A length of time as Go writes it, or an integer under the name with `Seconds`."""
    value = fields.raw(name)
    in_seconds = fields.optional_integer(f"{name}Seconds")
    if value is None:
        return in_seconds
    seconds = seconds_of(value) if isinstance(value, str) else None
    if seconds is None:
        fields.note(name, f"{name} is a length of time.", "Write it like 30m or 1h30m.")
    return seconds
