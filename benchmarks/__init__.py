"""Every speed claim, beside its peers, in one process run."""
