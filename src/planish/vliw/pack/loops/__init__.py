"""What becomes of loops before they are scheduled: counted by hardware, written out, without what stays the same."""
