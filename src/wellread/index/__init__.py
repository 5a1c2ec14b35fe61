"""The local index: words and meaning over passages on disk, from a hundred to tens of millions."""
