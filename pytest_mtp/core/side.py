"""Whose servers a campaign measures: of one build, or of two that are compared in the same blocks."""

from enum import Enum


class Side(Enum):
    """A build (model, flag set) and its arms; the gate has a head alone."""

    HEAD = "head"
    """What is judged."""
    BASE = "base"
    """What it is held against."""
    CONTROL = "control"
    """The base's mtp arm a second time: what moves there is no finding."""
