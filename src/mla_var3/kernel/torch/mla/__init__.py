"""The designs of multi-head latent attention in eager torch."""
