"""`lint` and the Configuration on the command line, against a real server."""

from pathlib import Path

from tests.cli.invocation import Invoker

SLIPPED = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
spec: {}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: tiny}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [memory]
    flavors:
    - {name: plain, resources: [{name: memory, nominalQuota: 64}]}
"""
CONFIGURATION = """
apiVersion: headgate.dev/v1
kind: Configuration
spec:
  fairSharing: {}
  resources: {quotaCheckStrategy: IgnoreUndeclared}
"""


def test_lint_tells_what_a_file_hardly_means_and_changes_nothing(
    headgate: Invoker, tmp_path: Path
) -> None:
    (tmp_path / "tiny.yaml").write_text(SLIPPED)
    told = headgate("lint", "-f", "tiny.yaml")
    assert "Warning: clusterqueue/tiny" in told.stderr
    assert "Did you mean 64Gi?" in told.stderr
    headgate("get", "cq", "tiny", code=3)
    assert headgate("lint").stdout == "No problems found in the configuration\n"


def test_lint_tells_what_would_be_refused(headgate: Invoker, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(SLIPPED.replace("64}", "-64}"))
    refused = headgate("lint", "-f", "bad.yaml", code=8)
    assert "nominalQuota" in refused.stderr
    assert refused.stdout == "1 error in 2 objects\n"


def test_the_configuration_is_applied_listed_and_described(
    headgate: Invoker, tmp_path: Path
) -> None:
    (tmp_path / "config.yaml").write_text(CONFIGURATION)
    assert "configuration/default created" in headgate("apply", "-f", "config.yaml").stdout
    listed = headgate("get", "config", "-o", "wide").stdout
    assert "IgnoreUndeclared" in listed
    assert "fairSharing" in headgate("describe", "configuration", "default").stdout
    headgate("delete", "config", "default")
