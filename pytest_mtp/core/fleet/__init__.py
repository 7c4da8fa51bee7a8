"""What is measured on more than one machine: cells, the file that asks for them, and what came of them."""
