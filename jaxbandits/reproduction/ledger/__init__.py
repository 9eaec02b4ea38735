"""The ledger: files that runs write, and the pages made from them."""
