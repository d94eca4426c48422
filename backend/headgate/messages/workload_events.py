"""Texts of what happened to a workload: evictions, preemptions, requeues, conditions."""

from collections.abc import Mapping

from headgate.messages.rendering import Text

TEXTS: Mapping[str, Text] = {}
