"""The claims of paper `glm`, one module per place in the paper."""
