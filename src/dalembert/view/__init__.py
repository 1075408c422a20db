"""See the motion: one self-contained HTML page with a 3D animation and plots, and still pictures.

    scene = Scene(title="Pendulum", time=t, bodies=[SceneBody("rod", [Shape("box", size=(...))], p, q)])
    write_html(scene, "pendulum.html")

The page needs no network and no server: open the file in any browser.
"""

from dalembert.errors import ViewError
from dalembert.view.check import SceneError, check
from dalembert.view.dots import plot_dots
from dalembert.view.figures import plot_path, plot_series, with_file, write_figure
from dalembert.view.matrix_picture import plot_matrix
from dalembert.view.page import html, write_html
from dalembert.view.scene import PALETTE, Plot, Scene, SceneBelt, SceneBody, SceneJoint, SceneSpring, Shape

__all__ = [
    "PALETTE", "Plot", "Scene", "SceneBelt", "SceneBody", "SceneError", "SceneJoint", "SceneSpring", "Shape",
    "ViewError", "check", "html", "plot_dots", "plot_matrix", "plot_path", "plot_series", "with_file", "write_figure",
    "write_html",
]  # fmt: skip
