"""The ledger: what runs leave on disk, and the pages that are made of it."""
