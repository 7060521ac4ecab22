"""Work for editors and browsers: requests in JSON, done by processes with limits."""
