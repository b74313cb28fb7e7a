"""One transaction for a batch, in which its tasks write and which the driver ends."""
