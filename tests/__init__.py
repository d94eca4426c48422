"""Every rule, edge and failure of Headgate, from pure functions to real processes."""
