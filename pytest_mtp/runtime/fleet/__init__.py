"""How cells come to their machines and their results back: an executor of each kind, and the record of a run."""
