"""Files as they lie in memory before they are on a disk: laid out, copied into, summed, written past the page cache."""
