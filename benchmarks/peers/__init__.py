"""Compare other packages with this one: the same instances, one core, rounds per CPU second, regret (`make peers`)."""
