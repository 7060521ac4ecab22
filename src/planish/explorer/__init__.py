"""The explorer: a page on this machine alone in which a file is changed, built again, and compared."""
