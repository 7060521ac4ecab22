"""What commands write to and are stopped from: standard streams, progress, signals and time limits."""
