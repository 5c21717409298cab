"""Nouns, states and decisions of GPUYard. No I/O, no clock, no framework: everything here can be called in a test."""
