"""Handwritten digits: 1,797 real images, a small network, and a picture of it."""
