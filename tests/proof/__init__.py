"""Proof that nothing is lost: the real processes, killed and lied to, against what the simulated cluster did."""
