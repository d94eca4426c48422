"""Numbers with their words."""


def counted(number: int, thing: str) -> str:
    """`1 pod`, `3 pods`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
