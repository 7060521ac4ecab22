"""Values that are the largest, or the least, of what each place has and of the value before it less a cost."""
