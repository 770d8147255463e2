"""Language (section 7): text, networks of words and their features, learning them, and the models learned."""
