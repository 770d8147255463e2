"""Lengths rounded up to a few sizes, so that few programs are compiled."""

# Sizes are multiples of this: what vector instructions like.
SMALLEST_STEP = 8


def padded(slots: int, devices: int = 1) -> int:
    """The next of eight sizes per doubling: at most an eighth is added, but for small ones. As many on every device.

    >>> [padded(slots) for slots in (0, 26, 622, 640, 65_000)]
    [8, 32, 640, 640, 65536]
    """
    step = max(SMALLEST_STEP, 1 << max(slots.bit_length() - 4, 0))
    return devices * -(-max(1, -(-slots // step)) * step // devices)
