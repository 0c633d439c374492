"""`dpbounds solve`: a folder per topic, with `add_arguments(parser)` and `run(arguments)`, and what they share."""
