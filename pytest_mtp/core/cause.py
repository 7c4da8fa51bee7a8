"""Why a verdict is what it is: a closed set."""

from enum import Enum


class Cause(Enum):
    """The factor that moved."""

    DRAFT_QUALITY = "draft quality"
    STEP_COST = "step cost"
    START_FAILURE = "start failure"
