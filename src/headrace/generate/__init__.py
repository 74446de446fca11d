"""Seeded streams to try things on: network packets, flights and weather. No engine; numpy and Arrow."""

from headrace.generate.flights import generate_flights
from headrace.generate.packets import SYN_FIN, XMAS, generate_packets

__all__ = ["SYN_FIN", "XMAS", "generate_flights", "generate_packets"]
