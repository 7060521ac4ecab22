"""The report as one page of HTML: what it tells, gathered from a build, and how it is written."""
