"""A stretch of time that is looked at at several instants."""

from dataclasses import dataclass

from headgate.application.application_services import ApplicationServices
from headgate.domain.rejection import InvalidRequest, Violation
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant

DAY = 86_400 * MICROSECONDS_PER_SECOND


@dataclass(frozen=True, slots=True)
class Stretch:
    """From when to when, at how many instants, two at least; until now, and a day, without."""

    since: Instant | None
    until: Instant | None
    points: int


def instants_of(services: ApplicationServices, stretch: Stretch) -> list[Instant]:
    """The instants, at equal distances, with both ends.

    Raises `InvalidRequest` for a stretch that has no length or lies in the future.
    """
    now = services.log.now()
    until = now if stretch.until is None else stretch.until
    since = until - DAY if stretch.since is None else stretch.since
    if until > now:
        raise _refused("/until", "It lies in the future.", "Name a time that has been.")
    if since >= until:
        raise _refused("/since", "It does not lie before `until`.", "Name an earlier time.")
    steps = stretch.points - 1
    return [since + (until - since) * step // steps for step in range(stretch.points)]


def _refused(pointer: str, rule: str, remedy: str) -> InvalidRequest:
    violation = Violation(pointer=pointer, rule=rule, remedy=remedy)
    return InvalidRequest("There is no such stretch.", remedy=remedy, violations=(violation,))
