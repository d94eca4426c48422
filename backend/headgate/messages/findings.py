"""Texts of lint warnings, alerts and findings of verification."""

from collections.abc import Mapping

from headgate.messages.rendering import Text

TEXTS: Mapping[str, Text] = {}
