"""How the cases of each of Kueue's tests are put to the engine."""
