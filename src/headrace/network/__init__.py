"""Plan join order, placement and reuse together, across sites (document 004)."""
