"""Values and decisions: no file, process, socket, clock or pytest in here."""
