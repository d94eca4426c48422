"""The stored form of events and folds: names, versions, codec, upcasters, chain and digest."""
