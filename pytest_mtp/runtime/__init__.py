"""Everything that touches the machine; it carries out and records, and decides nothing."""
