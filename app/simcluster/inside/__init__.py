"""The inside: controllers, scheduler and kubelets. They know the store and a clock, never HTTP."""
