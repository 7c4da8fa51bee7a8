"""What engines answer, read as one kind of value."""
