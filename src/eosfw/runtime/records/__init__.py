"""What happens to records between poll and send: checks, transformations, conversion, tolerated errors."""
