"""Proper distributions over sequences, and what is measured of them."""
