"""Memory of this host, and files read into it and written from it past the page cache."""
