"""Pages and files to text: what may be fetched, how it is fetched, and what of it is worth reading."""
