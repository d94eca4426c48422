"""A small busy cluster, so that every page of a fresh installation has something to show."""
