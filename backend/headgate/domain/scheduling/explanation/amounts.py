"""Amounts as people write them."""

BINARY = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))


def written_amount(resource: str, amount: int) -> str:
    """An amount with its resource: `1.5 cpu`, `4Gi memory`, `8 nvidia.com/gpu`."""
    return f"{written_number(resource, amount)} {resource}"


def written_number(resource: str, amount: int) -> str:
    """An amount alone: cores from millicores, bytes with a binary suffix where it divides."""
    if resource == "cpu":
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount / 1000:g}"
    if "memory" in resource or "storage" in resource:
        for suffix, size in BINARY:
            if amount and amount % size == 0:
                return f"{amount // size}{suffix}"
    return str(amount)


def written_level(level: str) -> str:
    """A level by the last part of its label: `rack` for `cloud.example/rack`."""
    return level.rpartition("/")[2] or level
