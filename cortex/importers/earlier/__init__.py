"""The stores of the five systems that Cortex unites, and what `cortex export` writes."""
