"""The `mla` command: parse, call a recipe, say where the result is."""
