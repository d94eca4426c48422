"""How much a queue may use, borrow and lend."""
