"""Spark's scalar expressions in DuckDB SQL, with Spark's types and answers. Text and types only: no engine."""
