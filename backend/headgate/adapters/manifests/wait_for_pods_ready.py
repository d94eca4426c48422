"""waitForPodsReady in manifests of ClusterQueues and of the Configuration."""

from typing import Any, Literal

from headgate.adapters.manifests.fields import Fields, either, read_seconds
from headgate.adapters.manifests.schemas import Duration, ManifestSchema
from headgate.adapters.manifests.times import duration_of
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


def rendered_wait(wait: WaitForPodsReady) -> dict[str, Any]:
    """The wait, defaults spelled out."""
    requeuing = wait.requeuing_strategy
    limit = requeuing.backoff_limit_count
    recovery = wait.recovery_timeout_seconds
    most, reset = requeuing.retry_limit_seconds, requeuing.reset_after_seconds
    return {
        "timeout": duration_of(wait.timeout_seconds),
        **({} if recovery is None else {"recoveryTimeout": duration_of(recovery)}),
        "requeuingStrategy": {
            "timestamp": requeuing.timestamp,
            **({} if limit is None else {"backoffLimitCount": limit}),
            "backoffBaseSeconds": requeuing.backoff_base_seconds,
            "backoffMaxSeconds": requeuing.backoff_max_seconds,
            **({} if most is None else {"maxBackOffRetryTimeout": duration_of(most)}),
            **({} if reset is None else {"backoffResetAfter": duration_of(reset)}),
        },
    }


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
    """How long admitted pods may take to become ready; for queues that say nothing themselves."""

    timeout: Duration = "30m0s"
    recovery_timeout: Duration | None = None
    block_admission: bool = False
    requeuing_strategy: RequeuingStrategySchema | None = None
