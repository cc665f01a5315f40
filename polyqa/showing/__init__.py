"""What a notebook, a document and a terminal show of an answer."""
