"""`get -o yaml` gives back a configured object as its author wrote it."""

import yaml

from tests.cli.invocation import Invoker

WRITTEN = """\
kind: Cohort
metadata:
  name: written
  annotations:
    example.com/owner: "research"
spec:
  resourceGroups:
  - flavors:
    - resources:
      - nominalQuota: 1500m
        name: cpu
      name: plain
    coveredResources: [cpu]
apiVersion: kueue.x-k8s.io/v1beta2
"""


def test_an_object_is_given_back_as_it_was_written(headgate: Invoker) -> None:
    headgate("apply", "-f", "-", given=WRITTEN)

    shown = yaml.safe_load(headgate("get", "cohort/written", "-o", "yaml").stdout)

    wanted = yaml.safe_load(WRITTEN)
    assert shown["spec"] == wanted["spec"]
    assert list(shown["spec"]["resourceGroups"][0]) == ["flavors", "coveredResources"]
    assert shown["metadata"]["annotations"] == wanted["metadata"]["annotations"]
    assert "unchanged" in headgate("apply", "-f", "-", given=WRITTEN).stdout
    assert "written" in headgate("get", "cohort").stdout
