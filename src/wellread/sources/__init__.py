"""Things that can be searched: one file each, all behind `protocols.Source`."""
