"""The suites besides the gate's own: how each is asked, and what its campaigns say."""
