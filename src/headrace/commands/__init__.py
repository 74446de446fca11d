"""The commands of `headrace`, by what they work on; `headrace.cli` puts them together."""
