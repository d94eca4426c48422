"""The same action on many workloads: chosen by query, frozen, previewed, done, undone."""
