"""The experiments, a folder for each paper: a figure or a theorem a file."""
