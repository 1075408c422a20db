"""The catalog of solids: bodies given by a few sizes. A new solid is one file and one name in ``AnySolid``."""

from typing import Annotated, get_args

from pydantic import Field

from dalembert.solids.base import Solid
from dalembert.solids.box import Box, Plate
from dalembert.solids.disc import Disc, Ring
from dalembert.solids.rod import Cylinder, Rod
from dalembert.solids.sphere import Sphere

__all__ = ["SOLIDS", "AnySolid", "Box", "Cylinder", "Disc", "Plate", "Ring", "Rod", "Solid", "Sphere"]

AnySolid = Annotated[Rod | Cylinder | Box | Plate | Disc | Ring | Sphere, Field(discriminator="kind")]

SOLIDS: dict[str, type[Solid]] = {
    solid.model_fields["kind"].default: solid for solid in get_args(get_args(AnySolid)[0])
}
