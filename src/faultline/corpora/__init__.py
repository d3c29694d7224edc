"""Data sets, one file each, and the embedded synthetic world."""
