"""One file for each bundled mechanism."""
