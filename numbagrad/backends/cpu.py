"""``torch.backends.cpu``: what the processor can do, as kernels are compiled for it."""

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """ "AVX512", "AVX2" or "DEFAULT"."""
    from ..codegen.loader import host

    features = host().features.split(",")
    if "+avx512f" in features and "+avx512dq" in features and "+avx512bw" in features:
        return "AVX512"
    return "AVX2" if "+avx2" in features and "+fma" in features else "DEFAULT"
