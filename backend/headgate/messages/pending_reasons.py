"""Texts of reasons why a workload is pending, of its blockers and of what would unblock it."""

from collections.abc import Mapping

from headgate.messages.rendering import Text

TEXTS: Mapping[str, Text] = {}
