"""Forms of terms for which there are instructions."""
