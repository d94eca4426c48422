"""LimitRanges and RuntimeClasses: what pods of a namespace may ask for, and what runtimes add."""
