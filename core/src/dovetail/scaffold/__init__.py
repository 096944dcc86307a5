"""New backends: a package written from the declarations, for its author to fill in."""
