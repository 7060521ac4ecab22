"""Commands about the installation: what is found on this machine, completion, manual pages, the cache."""
