"""A schedule tree becomes a nest that runs exactly the scheduled instances, in order."""
