"""Headrace: sets of continuous SQL queries over high-rate streams, on Apache Spark."""
