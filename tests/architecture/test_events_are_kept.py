"""Every fact that can be written has examples that must stay readable for ever."""

from headgate.event_log.codec import CLASSES_BY_NAME, EVENT_CLASSES, schema_version_of
from tests.architecture.sources import ROOT, assert_none, files_below

GOLDEN = ROOT / "tests" / "event_log" / "golden"


def test_every_event_has_a_golden_file_of_its_version() -> None:
    kept = {path.stem for path in files_below(GOLDEN, ".json")}
    wanted = [f"{name}.v{schema_version_of(name)}" for name in CLASSES_BY_NAME]
    assert_none(
        sorted(name for name in wanted if name not in kept),
        "Add tests/event_log/golden/<name>.v<version>.json; never change an old one:",
    )


def test_no_two_events_share_a_stored_name() -> None:
    assert len(CLASSES_BY_NAME) == len(EVENT_CLASSES)
