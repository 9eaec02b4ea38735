"""Commands of the command line; each module has the parsers and the functions of the commands on one subject."""
