"""Ledger of the verdicts: the files that runs write, and the pages that are made from them."""
