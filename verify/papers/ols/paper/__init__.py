"""The claims of paper `ols`, one module per place in the paper."""
