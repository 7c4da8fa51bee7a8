"""Whether the two servers of a block share the machine."""

from enum import Enum


class Isolation(Enum):
    """Whether the two servers of a block are up together."""

    AUTO = "auto"
    SIDE_BY_SIDE = "side-by-side"
    ALTERNATE = "alternate"
