"""The report page: one folder, no network, opens from disk."""
