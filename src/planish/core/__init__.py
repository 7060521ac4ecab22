"""What everything stands on: source spans, diagnostics, remarks, and the cache."""
