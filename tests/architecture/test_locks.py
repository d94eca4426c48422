"""Locked dependencies come from the public registries, whatever the locking machine uses."""

import re

from tests.architecture.sources import ROOT, assert_none

ADDRESS = re.compile(r'(?:file|https?)://[^/"\s]*')
OF_PYTHON = {"https://pypi.org", "https://files.pythonhosted.org"}
OF_NODE = {"https://registry.npmjs.org"}
RESOLVED = re.compile(r'"resolved": "([^"]+)"')


def test_python_packages_come_from_pypi() -> None:
    named = set(ADDRESS.findall((ROOT / "uv.lock").read_text()))
    assert_none(sorted(named - OF_PYTHON), "Lock again with only the default index set up:")


def test_node_packages_come_from_npm() -> None:
    resolved = RESOLVED.findall((ROOT / "frontend" / "package-lock.json").read_text())
    named = {found[0] for found in map(ADDRESS.findall, resolved) if found}
    assert_none(sorted(named - OF_NODE), "Lock again with only the default registry set up:")
