"""Small, complete programs on real data, run by `dovetail demo`."""
