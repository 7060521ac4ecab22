"""Expert schedules: kernels made from their definitions by the steps of the scheduling language, and nothing else."""
