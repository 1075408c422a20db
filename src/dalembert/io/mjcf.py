def read_mjcf(root, **options):
    raise NotImplementedError
