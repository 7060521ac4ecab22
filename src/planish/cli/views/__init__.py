"""What shows builds: a page, an editor, a browser."""
