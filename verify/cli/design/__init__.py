"""`dpbounds design`: a folder per topic, with `add_arguments(parser)` and `run(arguments)`."""
