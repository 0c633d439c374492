"""The claims of paper `iv`, one module per place in the paper."""
