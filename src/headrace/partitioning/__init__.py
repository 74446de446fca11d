"""Which rows must meet: the choice of partitioning keys."""
