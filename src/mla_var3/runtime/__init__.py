"""The four steps from a file or a kernel to its report, one recipe a mode."""
