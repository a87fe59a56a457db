"""Values that everything speaks, and how they are stored. Standard library and msgspec only."""
