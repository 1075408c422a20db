"""All tests of the translator use a cache directory of their own; those after them use the one before."""

from support.caches import cache_directory, own_directory

__all__ = ["cache_directory", "own_directory"]
