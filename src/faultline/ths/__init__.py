"""Paper 3: THS, OSR, the semantic cache, the judges and their agreement with people."""
