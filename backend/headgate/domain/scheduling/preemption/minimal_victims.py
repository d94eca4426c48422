"""The inclusion-minimal set of victims that makes the preemptor fit.

Kueue: the two steps of preemption.classicalPreemptions, the second being fillBackWorkloads
(preemption.md §1.7, §6.6 steps 6 to 10). The admission is fixed before workloads are filled back,
so that the fit is monotone and the result minimal.
"""

from collections.abc import Iterator, Sequence

import msgspec

from headgate.domain.scheduling.preemption.capacity_view import CapacityView
from headgate.domain.scheduling.preemption.request import PreemptionRequest, RemovedChains, Victim
from headgate.domain.workloads.admission import Admission


class FitTest(msgspec.Struct, frozen=True, gc=False):
    """Whether the preemptor fits: in quota, if need be without borrowing, and on hosts.

    Kueue: workloadFits. `has_ample_quota` if quota fits before any removal, and so after each.
    """

    view: CapacityView
    request: PreemptionRequest
    borrow: bool
    has_ample_quota: bool = False

    def fits(self) -> bool:
        """Whether the preemptor fits on any hosts."""
        return self.fits_in_quota() and self.view.fits_on_hosts()

    def fits_at(self, admission: Admission) -> bool:
        """Whether the preemptor fits at this admission."""
        return self.fits_in_quota() and self.view.fits_at(admission)

    def fits_in_quota(self) -> bool:
        """Whether quota has room for all amounts of the request."""
        if self.has_ample_quota:
            return True
        view, node = self.view, self.request.node
        return all(
            (self.borrow or view.used(node, key) + amount <= view.tree.nominal(node, key))
            and amount <= view.available(node, key)
            for key, amount in self.request.amounts.items()
        )


def fit_test(view: CapacityView, request: PreemptionRequest, *, borrow: bool) -> FitTest:
    """Returns the test, made before any removal."""
    is_ample = FitTest(view, request, borrow).fits_in_quota()
    return FitTest(view, request, borrow, has_ample_quota=is_ample)


def minimal_victims(
    test: FitTest, sequence: Iterator[Victim]
) -> tuple[list[Victim], Admission] | None:
    """Returns the victims in removal order and the admission that their removal makes possible.

    The victims stay removed from the view. None, with all candidates restored, if the removal of
    all is not enough.
    """
    log = _RemovalLog(test, [])
    found = _exponential_search(log, sequence)
    if found is None:
        log.remove_first(0)
        return None
    _bisect(log, *found)
    admission = test.view.admission()
    if admission is None:
        log.remove_first(0)
        return None
    return _fill_back(test, log.victims[: log.removed], admission), admission


class _RemovalLog(msgspec.Struct, gc=False):
    """Victims in removal order, of which the first `removed` are removed now."""

    test: FitTest
    victims: list[Victim]
    removed: int = 0

    def append(self, victim: Victim) -> None:
        """Removes one more victim."""
        self.test.view.remove(victim.candidate)
        self.victims.append(victim)
        self.removed += 1

    def remove_first(self, count: int) -> None:
        """Removes or restores victims until the first `count` are removed."""
        while self.removed < count:
            self.test.view.remove(self.victims[self.removed].candidate)
            self.removed += 1
        while self.removed > count:
            self.removed -= 1
            self.test.view.restore(self.victims[self.removed].candidate)


def _exponential_search(log: _RemovalLog, sequence: Iterator[Victim]) -> tuple[int, int] | None:
    """Returns a number of removals that is too low and one that is enough; None if none is.

    Where hosts take a placement search, it runs only while quota fits, after 1, 2, 4, ... further
    removals.
    """
    low, step, due = 0, 1, 1
    growth = 2 if log.test.view.needs_search() else 1
    for victim in sequence:
        log.append(victim)
        if not log.test.fits_in_quota():
            low, due = log.removed, log.removed + 1
        elif log.removed >= due:
            if log.test.fits():
                return low, log.removed
            low, step = log.removed, step * growth
            due = log.removed + step
    last = log.removed
    return (low, last) if last > low and log.test.fits() else None


def _bisect(log: _RemovalLog, low: int, high: int) -> None:
    """Leaves the lowest number of removals removed that is enough."""
    while high - low > 1:
        middle = (low + high) // 2
        log.remove_first(middle)
        if log.test.fits():
            high = middle
        else:
            low = middle
    log.remove_first(high)


def _fill_back(test: FitTest, removed: Sequence[Victim], admission: Admission) -> list[Victim]:
    """Restores victims, the most important first, with which the admission still fits.

    Kueue: preemption.fillBackWorkloads. Returns the victims left, in removal order.
    """
    chains, left = RemovedChains(), []
    for victim in reversed(removed):
        if chains.blocks(victim.candidate):
            left.append(victim)
            continue
        test.view.restore(victim.candidate)
        if not test.fits_at(admission):
            test.view.remove(victim.candidate)
            chains.keep_removed(victim.candidate)
            left.append(victim)
    return left[::-1]
