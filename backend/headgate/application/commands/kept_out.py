"""Work that is taken and cannot start: the queues it names keep it out."""

from collections.abc import Sequence

from headgate.application.commands.requests import CommandResult
from headgate.application.cooperative import Cooperative
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.object_set import ObjectSet
from headgate.domain.scheduling.lines.standing import Obstacle, queue_obstacle
from headgate.domain.streams import kind_and_key
from headgate.domain.workloads.state import Workload


def config_after(config: ObjectSet, changes: Sequence[CommandResult]) -> ObjectSet:
    """The configuration once these changes are made."""
    made = {changed.stream: changed.after for changed in changes if changed.failure is None}
    configured = [stream for stream in sorted(made) if kind_and_key(stream)[0] in KINDS_BY_STREAM]
    if not configured:
        return config
    after = config.copied()
    for stream in configured:
        kind, key = kind_and_key(stream)
        if isinstance(made[stream], Absent):
            after.of_kind(kind).pop(key, None)
        else:
            after.of_kind(kind)[key] = made[stream]
    return after


def kept_out(config: ObjectSet, changed: CommandResult) -> Obstacle | None:
    """Why its queues let a workload not compete; None for all else, and for what may."""
    after = changed.after
    if changed.failure is not None or not isinstance(after, Workload):
        return None
    settled = (after.admission, after.finished_at, after.terminating_at, after.cancelling_at)
    if any(each is not None for each in settled):
        return None
    return queue_obstacle(config, after)


def keeps_any_out(config: ObjectSet, changes: Sequence[CommandResult]) -> Cooperative[bool]:
    """Whether any of the workloads is kept out once all of the changes are made."""
    if not any(isinstance(changed.after, Workload) for changed in changes):
        return False
    after = config_after(config, changes)
    for changed in changes:
        if kept_out(after, changed) is not None:
            return True
        yield
    return False
