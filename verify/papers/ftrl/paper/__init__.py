"""The claims of paper `ftrl`, one module per place in the paper."""
