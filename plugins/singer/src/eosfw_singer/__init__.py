"""The connector `singer`: runs a Singer tap and sends its rows, each exactly once."""
