"""SVE: instructions of Arm for registers of any length, with definitions of our own."""
