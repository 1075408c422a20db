"""Model files: read and write them, and the schema they follow."""

from dalembert.io.files import READERS, WRITERS, read, register, write
from dalembert.io.mesh_bodies import mesh_body
from dalembert.io.robot_files import loads_robot
from dalembert.io.schema import json_schema, planar_json_schema
from dalembert.io.table_files import read_grid, read_table
from dalembert.io.yaml_files import dumps, loads

__all__ = [
    "READERS", "WRITERS", "dumps", "json_schema", "loads", "loads_robot", "mesh_body", "planar_json_schema",
    "read", "read_grid", "read_table", "register", "write",
]  # fmt: skip
