"""The commands of the command line, by subject: each file adds their parsers beside the functions that serve them."""
