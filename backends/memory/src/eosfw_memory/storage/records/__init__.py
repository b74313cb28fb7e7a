"""Kafka's record batches (format v2) as bytes: headers, records, control records, compression.

Everything here is a pure function of bytes: no clock, thread, socket or state.
"""
