"""How the pods of one workload behave, decided by its uid and a seed alone."""

import msgspec

from headgate.adapters.system.chance import seeded
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND

RUN_SECONDS = "headgate.dev/run-seconds"
FAILS = "headgate.dev/fails"
NEVER_READY = "headgate.dev/never-ready"
SAVE_SECONDS = "headgate.dev/save-seconds"


class Behaviour(msgspec.Struct, frozen=True, kw_only=True):
    """Lengths of time in microseconds: from admission to ready, from ready to the end, to stop.

    `save_delay` is what saving its work takes before it stops, where it is given the time.
    """

    start_delay: int
    run_length: int
    stop_delay: int
    save_delay: int = 0
    fails: bool = False
    is_never_ready: bool = False


class Habits(msgspec.Struct, frozen=True, kw_only=True):
    """What workloads do that say nothing themselves; lengths in seconds, rates from 0 to 1."""

    seed: int = 0
    start_seconds: tuple[float, float] = (0.5, 3.0)
    mean_run_seconds: float = 30.0
    stop_seconds: tuple[float, float] = (0.2, 2.0)
    save_seconds: tuple[float, float] = (1.0, 4.0)
    failure_rate: float = 0.0
    never_ready_rate: float = 0.0


def behaviour_of(uid: str, annotations: dict[str, str], habits: Habits) -> Behaviour:
    """The same for the same uid and seed, whoever asks and however often."""
    chance = seeded(habits.seed, uid)
    start = chance.uniform(*habits.start_seconds)
    run = min(chance.expovariate(1.0 / habits.mean_run_seconds), 10 * habits.mean_run_seconds)
    stop = chance.uniform(*habits.stop_seconds)
    fails = chance.random() < habits.failure_rate
    never_ready = chance.random() < habits.never_ready_rate
    save = chance.uniform(*habits.save_seconds)
    return Behaviour(
        start_delay=_microseconds(start),
        run_length=_microseconds(_told(annotations, RUN_SECONDS, run)),
        stop_delay=_microseconds(stop),
        save_delay=_microseconds(_told(annotations, SAVE_SECONDS, save)),
        fails=_flag(annotations, FAILS, otherwise=fails),
        is_never_ready=_flag(annotations, NEVER_READY, otherwise=never_ready),
    )


def _told(annotations: dict[str, str], name: str, otherwise: float) -> float:
    try:
        return max(0.0, float(annotations[name]))
    except (KeyError, ValueError):
        return otherwise


def _flag(annotations: dict[str, str], name: str, *, otherwise: bool) -> bool:
    return annotations[name] == "true" if name in annotations else otherwise


def _microseconds(seconds: float) -> int:
    return int(seconds * MICROSECONDS_PER_SECOND)
