"""How Sphinx builds the site: ``make docs`` runs it.

Pages are Markdown (MyST). Those with a header of Jupytext are notebooks, which run while the site
is built; an error in a cell ends the build. Nothing is fetched from a network, neither by the build
nor by a reader's browser.
"""

import builtins
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
# Kernels of notebooks are processes of their own; they take the package of this tree.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH", "")])
)

import plots  # noqa: E402
import reference  # noqa: E402
from sphinx import addnodes  # noqa: E402

import numbagrad  # noqa: E402

project = "numbagrad"
author = "the authors of numbagrad"
copyright = author
version = release = numbagrad.version.numbagrad

extensions = ["myst_nb", "sphinx_copybutton"]
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]
html_theme = "furo"
html_title = "numbagrad"
html_static_path = ["_static"]
html_favicon = "_static/icon.svg"
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
toc_object_entries = False
python_maximum_signature_line_length = 88
pygments_style = "friendly"
pygments_dark_style = "monokai"

myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_ipywidgets_js = {}
# A type in a signature may be a name of two modules, which offer the same class.
suppress_warnings = ["ref.python"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def prepare(app, docname, source):
    """Write anchors and links of pages that are read elsewhere too as MyST has them.

    A link out of the site becomes one to a copy of the file, or plain text if it is no file.
    """
    text = re.sub(r'^<a id="([\w.-]+)"></a>$', r"(\1)=", source[0], flags=re.MULTILINE)
    folder = pathlib.Path(app.env.doc2path(docname)).parent

    def link(match):
        target = (folder / match[2].partition("#")[0]).resolve()
        if HERE in target.parents:
            return match[0]
        return f"[{match[1]}](path:{match[2]})" if target.is_file() else match[1]

    source[0] = re.sub(r"(?<!!)\[([^\]\n]*)\]\((\.\./[^)\s]*)\)", link, text)


def unlink_builtins(app, doctree):
    """Leave ``bool`` in a signature what Python means; the package has dtypes of such names."""
    for link in list(doctree.findall(addnodes.pending_xref)):
        if link.get("refdomain") == "py" and link["reftarget"] in vars(builtins):
            link.replace_self(link.children)


def setup(app):
    reference.write(HERE / "reference")
    plots.write(HERE.parent / "bench" / "RESULTS.md", HERE / "plots")
    app.connect("source-read", prepare)
    app.connect("doctree-read", unlink_builtins)
