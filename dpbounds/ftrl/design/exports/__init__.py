"""A designed mechanism as what a training library takes: jax_privacy, Opacus, or plain arrays.

`export` says what a consumer needs; `exported_files` gives the content of its files, as bytes under their names:
nothing is written here. The modules of training libraries are filled templates.
"""

from dpbounds.ftrl.design.exports.archives import SAVED, archive, design_of, saved
from dpbounds.ftrl.design.exports.files import exported_files, source
from dpbounds.ftrl.design.exports.records import ADJACENCY, CONSUMERS, Consumer, Export, export

__all__ = [
    "ADJACENCY",
    "CONSUMERS",
    "SAVED",
    "Consumer",
    "Export",
    "archive",
    "design_of",
    "export",
    "exported_files",
    "saved",
    "source",
]
