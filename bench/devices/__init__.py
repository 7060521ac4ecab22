"""Kernels on a real GPU beside their anchors: prepared where Planish is, run where the device is."""
