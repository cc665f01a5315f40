"""All that concerns one call of a language model."""
