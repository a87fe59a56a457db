"""Turn the world (reports, exports, later the GPU) into a record."""
