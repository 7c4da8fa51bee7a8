"""The embedded model whose greedy text and acceptance follow from arithmetic."""
