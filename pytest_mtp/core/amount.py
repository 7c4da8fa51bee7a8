"""How people read amounts of bytes and the progress through them."""

_UNITS = ("B", "kB", "MB", "GB", "TB")
_STEP = 1000  # decimal, as disks, hubs and downloads count


def amount(size: float) -> str:
    """``16.99 GB`` of a number of bytes, in decimal units."""
    value, units = float(size), iter(_UNITS)
    unit = next(units)
    while value >= _STEP and (larger := next(units, None)):
        value, unit = value / _STEP, larger
    return f"{value:.0f} {unit}" if unit in _UNITS[:2] else f"{value:.2f} {unit}"


def advance(name: str, done: int, total: int | None, elapsed_s: float) -> str:
    """``NAME: 12 % of 16.99 GB, 85.00 MB/s``; without the share when the total is unknown."""
    share = f"{done / total:.0%} of {amount(total)}".replace("%", " %") if total else amount(done)
    rate = f", {amount(done / elapsed_s)}/s" if elapsed_s > 0 else ""
    return f"{name}: {share}{rate}"


def memory_amount(size: float) -> str:
    """``22.1 GiB`` or ``237 MiB`` of a number of bytes, in the units of memory."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"


def counted(number: int, thing: str) -> str:
    """``1 valid block``, ``2 valid blocks``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
