"""What is found out about the steps of a graph."""
