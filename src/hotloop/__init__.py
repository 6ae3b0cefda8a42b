"""hotloop: why a TensorFlow loop is slow, gets slower or eats memory, and the fix, with proof."""

__version__ = "0.1.0"
