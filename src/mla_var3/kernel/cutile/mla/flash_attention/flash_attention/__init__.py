"""The base version."""
