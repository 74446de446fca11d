"""What decides between two batches, with no Spark in sight."""
