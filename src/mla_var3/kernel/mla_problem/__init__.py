"""What each attention design computes, the same in every language: inputs, reference, work."""
