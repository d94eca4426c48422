"""Amounts in base units as people read them: cores, binary bytes, pieces."""

MILLI = 1_000
_BYTES = (("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))
UNBOUNDED = (1 << 63) - 1
"""The share of a borrower whose weight is 0, as the API tells it."""


def amount(resource: str, value: int) -> str:
    """`1500` cpu is `1.5`, `4294967296` memory is `4Gi`; anything else is a number of pieces."""
    if resource == "cpu":
        return _thousandths(value)
    if resource in {"memory", "ephemeral-storage"} or resource.startswith("hugepages-"):
        return _binary(value)
    return str(value)


def share(used: int, total: int) -> str:
    """A percentage, or `-` where there is nothing to take a share of."""
    return f"{round(100 * used / total)}%" if total else "-"


def fair_share(thousandths: int) -> str:
    """What is borrowed of all that can be lent, by weight; empty where nothing is."""
    if not thousandths:
        return ""
    if thousandths == UNBOUNDED:
        return "fair share: beyond any, its weight is 0"
    return f"fair share {_thousandths(thousandths * 100)}%"


def _thousandths(value: int) -> str:
    whole, rest = divmod(abs(value), MILLI)
    sign = "-" if value < 0 else ""
    return f"{sign}{whole}" if not rest else f"{sign}{whole}.{rest:03d}".rstrip("0")


def _binary(value: int) -> str:
    for suffix, size in _BYTES:
        if abs(value) >= size:
            scaled = value / size
            return f"{value // size}{suffix}" if value % size == 0 else f"{scaled:.1f}{suffix}"
    return str(value)
