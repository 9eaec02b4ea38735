"""Other packages beside this one: the same instances, one core, rounds per CPU second and regret (`make peers`)."""
