"""Rules that rewrite or group a query graph, one to a file."""
