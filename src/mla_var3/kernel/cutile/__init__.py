"""Plans in cuTile: compiled for a GPU without one, launched on CUDA, interpreted on a CPU."""
