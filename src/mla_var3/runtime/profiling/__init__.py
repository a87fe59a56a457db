"""One recipe a mode: measure or read, save, analyse, render."""
