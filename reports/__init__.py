"""Pictures: a results file becomes figures and a typeset PDF. Knows the file format and nothing else of the house."""
