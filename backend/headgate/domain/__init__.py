"""The rules: state, command and time in, events out; nothing here touches the world."""
