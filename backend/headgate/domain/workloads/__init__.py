"""Workloads: commands, events, state and transitions of a gang of pods, one stream each."""
