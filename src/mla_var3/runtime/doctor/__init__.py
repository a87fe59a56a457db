"""The probes of `mla doctor`: what works on this machine, found by doing it."""
