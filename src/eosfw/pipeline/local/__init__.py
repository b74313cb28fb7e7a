"""What the parts of a run share: worker and cluster, control, progress."""
