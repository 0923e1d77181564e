"""Operators that make fewer elements of many, or of neighbours: sums, extrema, scans, sorting."""
