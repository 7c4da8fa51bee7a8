"""Servers that already run, and engines other than llama.cpp: one module each."""
