"""What every part of the broker uses: error codes, delayed operations, interceptors, background tasks."""
