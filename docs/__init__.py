"""The documentation: its pages, how the site is made of them, and what of them is made of the code."""
