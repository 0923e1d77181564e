"""``torch._prims``: the primitive operators of the compiler; not there."""

from .absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "numbagrad.functions has operators as Functions",
    """RETURN_TYPE abs acos acosh add amax amin as_strided as_strided_scatter asin asinh atan
    atan2 atanh bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bitwise_and
    bitwise_not bitwise_or bitwise_xor broadcast_in_dim cat cbrt ceil clone collapse
    collapse_view conj conj_physical convert_element_type copy_strided copy_to cos cosh
    device_put digamma div empty_permuted empty_strided eq erf erf_inv erfc erfcx exp exp2
    expand_dims expm1 fft_c2c fft_c2r fft_r2c fill floor fmax fmin fmod frexp gcd ge gt hypot
    igamma igammac imag iota isfinite item le lgamma log log10 log1p log2 lt maximum
    maximum_value minimum minimum_value mul ndtri ne neg nextafter normal pow prod real
    reciprocal remainder reshape resize rev round rsqrt scalar_tensor shift_left
    shift_right_arithmetic shift_right_logical sign signbit sin sinh slice spherical_bessel_j0
    split_dim sqrt squeeze sub sum svd tan tanh transpose trunc var view_element_type view_of
    where xor_sum zeta""",
)
