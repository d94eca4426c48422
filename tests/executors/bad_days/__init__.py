"""Bad input and bad days: what becomes of pods, each ending in a clear state with a reason."""
