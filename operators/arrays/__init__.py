"""Array functions: segments of a sorted column, rows of a frame, columns of lists."""
