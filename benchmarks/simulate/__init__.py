"""Runs that a seed decides, with faults, and what they must answer."""
