"""dalembert: multibody dynamics. One model, every formulation, native speed."""
