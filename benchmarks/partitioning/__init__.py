"""The experiments of document 000 §6 on Headrace and a Spark standalone cluster; docs/evidence/partitioning.md shows them."""
