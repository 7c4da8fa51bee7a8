"""The exit statuses that are ours, of the suites and of commands alike; pytest's own end at 6."""

UNDECIDED = 17
"""Something got no answer."""

RED_BY_HISTORY = 18
"""The gate found no loss, the history did."""

STOPPED_BISECT = 128
"""Ends ``git bisect run``, which takes all below it, but for 125, as a commit's answer."""
