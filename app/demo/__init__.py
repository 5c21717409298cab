"""`gpuyard demo`: the whole product on one machine, with a simulated cluster. Needs nothing but Python."""
