"""Random expressions and aggregates over all of Spark's functions: what Headrace computes on results against Spark's own answers.

`python -m benchmarks.expressions --count 20000 --seed 1` prints how many were equal, refused and different, and shows every
difference that is not among the known ones (`known.py`). The tests run a sample.
"""
