"""The wait for pods to become ready, as several kinds of manifests show it."""

from typing import Any

from headgate.adapters.manifests.durations import duration_of
from headgate.domain.kinds.wait_for_pods_ready import WaitForPodsReady


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
