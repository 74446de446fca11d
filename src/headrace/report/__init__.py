"""What people see of a run: one report per batch, and three ways to look at them (live view, log, page)."""

from headrace.report.model import BatchReport, QueryReport, SlotLoad, StreamReport, Totals, throughput

__all__ = ["BatchReport", "QueryReport", "SlotLoad", "StreamReport", "Totals", "throughput"]
