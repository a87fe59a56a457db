"""Attention designs in cuTile, one folder each."""
