"""The polyhedral view of a kernel: instances, accesses, dependences, schedules and their legality."""
