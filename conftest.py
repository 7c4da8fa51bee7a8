"""What this repository's own suites use; no logic: the plugin itself comes by its entry point."""
