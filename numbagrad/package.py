"""``torch.package``: code and models in one archive; not there."""

from .absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "save the state_dict, and ship the code",
    """Directory EmptyMatchError GlobGroup Importer ObjMismatchError ObjNotFoundError
    OrderedImporter PackageExporter PackageImporter PackagingError analyze
    file_structure_representation find_file_dependencies glob_group importer is_from_package
    package_exporter package_importer sys_importer""",
)
