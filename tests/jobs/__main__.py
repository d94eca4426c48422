"""`python -m tests.jobs`: the kinds of jobs, a line each, with what runs them.

Each kind is read from its example; a kind that is refused says why.
"""

import sys

from headgate.adapters.manifests.job_kinds import JOB_KINDS_BY_NAME
from headgate.adapters.manifests.parse import Desired, Refused, parse
from headgate.domain.kinds.registry import JOB_KINDS
from headgate.messages.catalogue import remedy_of, text_of
from tests.jobs.manifests import CRON_JOB, EXAMPLES

RUN_BY = {
    "executors": "run by our executors",
    "controller": "admitted only, run by its own controller",
}
REFUSED = {
    "DaemonSet": "apps/v1",
    "ReplicaSet": "apps/v1",
}


def main() -> int:
    """0 if every kind is read."""
    for name in JOB_KINDS:
        *_, desired = parse(EXAMPLES[name].manifest.encode())
        assert isinstance(desired, Desired), desired
        kind = JOB_KINDS_BY_NAME.get(name)
        run_by = RUN_BY[kind.run_by if kind else "executors"]
        pod_sets = ", ".join(f"{one.name} x {one.count}" for one in desired.spec.pod_sets)
        print(f"{name:<18} {run_by:<42} {pod_sets}")
    (cron_job,) = parse(CRON_JOB.encode())
    assert isinstance(cron_job, Desired), cron_job
    print(f"{'CronJob':<18} makes a Job at each scheduled time")
    for name, version in REFUSED.items():
        (refused,) = parse(f"apiVersion: {version}\nkind: {name}\nmetadata: {{name: x}}".encode())
        assert isinstance(refused, Refused), refused
        (problem,) = refused.problem.violations
        print(f"{name:<18} refused: {text_of(problem.message)}. {remedy_of(problem.message)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
