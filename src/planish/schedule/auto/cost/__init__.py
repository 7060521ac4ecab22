"""The performance model: cycles in the core by ports and latencies, and lines moved between the caches."""
