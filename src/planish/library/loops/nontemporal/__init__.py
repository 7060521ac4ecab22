"""Non-temporal stores: rows of results that are not read again bypass the caches."""
