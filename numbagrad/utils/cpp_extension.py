"""``torch.utils.cpp_extension``: extensions in C++; not there."""

from ..absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "numbagrad.kernel compiles functions of Python",
    """BuildExtension CUDAExtension CppExtension SyclExtension check_compiler_is_gcc
    check_compiler_ok_for_platform get_compiler_abi_compatibility_and_version get_cxx_compiler
    get_default_build_root include_paths is_ninja_available library_paths load load_inline
    remove_extension_h_precompiler_headers verify_ninja_availability""",
)
