"""Plans in eager torch: the same designs without a kernel of ours, on a GPU or the CPU."""
