"""Version 1: larger tiles and eight worker warps."""
