"""What a pod's requests count for quota (Kueue's applyResourceTransformations, queueing.md §3.9).

Requests are kept as they were submitted, and hosts are filled by them; only what is charged to
quota follows from these rules, each time a workload is looked at. Who holds quota keeps what it
was charged when the rules change, and is charged anew at its next admission.
"""

from collections.abc import Mapping
from fractions import Fraction

from headgate.domain.configuration.specs import ResourceRules, Transformation
from headgate.domain.values.quantities import Requests

MILLI = 1000


def quota_amounts(requests: Mapping[str, int], rules: ResourceRules) -> Requests:
    """The amounts that one pod is charged; sums are exact and rounded up only at the end.

    Excluded resources count nothing and multiply nothing. Outputs of several inputs add up; where
    they come to less than nothing they count nothing, also beside a request of the same name.
    """
    if not rules.transformations and not rules.exclude_resource_prefixes:
        return dict(sorted(requests.items()))
    left = {
        name: amount
        for name, amount in sorted(requests.items())
        if not name.startswith(rules.exclude_resource_prefixes)
    }
    transformed = [rule for rule in rules.transformations if rule.input in left]
    if not transformed:
        return left
    outputs: dict[str, Fraction] = {}
    for rule in transformed:
        for name, amount in _outputs(rule, left).items():
            outputs[name] = outputs.get(name, Fraction(0)) + amount
    replaced = {rule.input for rule in transformed if rule.strategy == "Replace"}
    total = {name: amount for name, amount in left.items() if name not in replaced}
    for name, amount in outputs.items():
        total[name] = total.get(name, 0) + max(0, _rounded_up(amount))
    return dict(sorted(total.items()))


def _outputs(rule: Transformation, requests: Mapping[str, int]) -> dict[str, Fraction]:
    times = _units(rule.input, requests[rule.input])
    if rule.multiply_by in requests:
        times *= _units(rule.multiply_by, requests[rule.multiply_by])
    return {
        name: times * _amount(name, factor_milli)
        for name, factor_milli in rule.outputs_milli.items()
    }


def _units(resource: str, amount: int) -> Fraction:
    """Whole cores, bytes or devices."""
    return Fraction(amount, MILLI if resource == "cpu" else 1)


def _amount(resource: str, thousandths: int) -> Fraction:
    """Thousandths of a unit as an amount: cpu is counted in thousandths."""
    return Fraction(thousandths, 1 if resource == "cpu" else MILLI)


def _rounded_up(amount: Fraction) -> int:
    return -(-amount.numerator // amount.denominator)
