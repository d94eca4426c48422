"""Does Headgate decide as Kueue does? Its own test cases, as data, run through the engine."""
