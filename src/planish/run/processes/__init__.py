"""Child processes: limits, sandboxes, pools of workers, Dask clusters."""
