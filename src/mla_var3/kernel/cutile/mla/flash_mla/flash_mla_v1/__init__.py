"""Version 1: column chunks, two tiles in flight, keys split over blocks."""
