"""Low-watermarks and how they combine. Pure."""

from headrace.progress.policy import Ordered, Policy, Slack, advance, low_watermark, meld

__all__ = ["Ordered", "Policy", "Slack", "advance", "low_watermark", "meld"]
