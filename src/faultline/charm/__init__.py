"""CHARM: stage signals, the trigger that adds them up, and the metrics of early detection."""
