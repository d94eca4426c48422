"""waitForPodsReady in manifests of ClusterQueues and of the Configuration."""

from typing import Literal

from headgate.adapters.manifests.fields import Fields, either, read_seconds
from headgate.adapters.manifests.records import Record, duration, field, nested
from headgate.adapters.manifests.schemas import Duration, ManifestSchema
from headgate.domain.kinds.wait_for_pods_ready import RequeuingStrategy, WaitForPodsReady


def _read_timeout(fields: Fields, name: str, usual: int) -> int:
    """A timeout of 0 is the usual one, as in Kueue."""
    return read_seconds(fields, name) or usual


def _read_limit_count(strategy: Fields, name: str, _: object) -> int | None:
    """The count under Kueue's name, or under the one of KEP-1282."""
    return either(strategy, name, "maxBackOffRetryCount", strategy.optional_integer)


def _read_length(strategy: Fields, name: str, _: object) -> int | None:
    """A length of time, where a bare number is seconds (KEP-1282 has no unit)."""
    value = strategy.raw(name)
    return value if type(value) is int else read_seconds(strategy, name)


WAIT_RECORD = Record(
    WaitForPodsReady,
    duration("timeout", "timeout_seconds", read=_read_timeout),
    duration("recoveryTimeout", "recovery_timeout_seconds"),
    nested(
        "requeuingStrategy",
        Record(
            RequeuingStrategy,
            field("timestamp"),
            field("backoffLimitCount", read=_read_limit_count),
            field("backoffBaseSeconds"),
            field("backoffMaxSeconds"),
            duration("maxBackOffRetryTimeout", "retry_limit_seconds", read=_read_length),
            duration("backoffResetAfter", "reset_after_seconds", read=_read_length),
        ),
    ),
)
"""How long pods may take to become ready."""


class RequeuingStrategySchema(ManifestSchema, kw_only=True, frozen=True):
    """How long a workload waits after its pods were not ready in time, longer each time.

    `maxBackOffRetryCount` is another name of `backoffLimitCount`; `backoffResetAfter` is how long
    pods must stay ready for the count to start over.
    """

    timestamp: Literal["Eviction", "Creation"] = "Eviction"
    backoff_limit_count: int | None = None
    backoff_base_seconds: int = 60
    backoff_max_seconds: int = 3600
    max_back_off_retry_count: int | None = None
    max_back_off_retry_timeout: Duration | int | None = None
    backoff_reset_after: Duration | int | None = None


class InstallationWaitSchema(ManifestSchema, kw_only=True, frozen=True):
    """How long admitted pods may take to become ready; for queues that say nothing themselves.

    `recoveryTimeout`, for pods that were ready before, is by default the timeout; 0 is no limit.
    """

    timeout: Duration = "30m0s"
    recovery_timeout: Duration | None = None
    block_admission: bool = False
    requeuing_strategy: RequeuingStrategySchema | None = None
