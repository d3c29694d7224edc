"""Tables, figures, the ledger and the page: reads results, computes nothing new about the science."""
