"""Small servers in the dialects of engines, written from what their makers publish; they draft by a known script."""
