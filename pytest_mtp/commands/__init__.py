"""The commands of ``pytest-mtp``, a module each: its arguments, and what it does with them."""
