"""One admission cycle as one pure function, and the families of rules it combines."""
