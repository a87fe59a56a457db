"""Kernels, one folder a language; the folder is the registry."""
