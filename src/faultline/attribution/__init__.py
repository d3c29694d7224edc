"""Paper 2: which hop caused the failure, and how far that can be told."""
