"""Texts of rejected commands and of violations, with their remedies."""

from collections.abc import Mapping

from headgate.messages.rendering import Text

TEXTS: Mapping[str, Text] = {}
