"""The rule for near-duplicates, said plainly."""

from collections.abc import Callable


def representatives(size: int, alike: Callable[[int, int], bool]) -> list[int]:
    """An item belongs to the first kept one that it is like, else it is kept."""
    found: list[int] = []
    for one in range(size):
        kept = [other for other in range(one) if found[other] == other]
        found.append(next((other for other in kept if alike(one, other)), one))
    return found
