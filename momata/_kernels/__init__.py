"""Compiled loops; each file stands alone, and beside each loop a function checks what goes in."""
