"""The exit status that is ours alone, of the suites and of commands alike."""

UNDECIDED = 17
"""Something got no answer; pytest's own statuses end at 6."""
