"""The pure rules: state, command and time in, events out; no I/O."""
