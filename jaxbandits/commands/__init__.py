"""Commands of the command line by subject: each module has the parsers and the functions of its commands."""
