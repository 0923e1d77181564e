"""torch.fft, spectra of frames and windows: what the table of operators does not say."""

import numpy as np
import pytest

import numbagrad as torch

X = np.random.default_rng(0).normal(size=(2, 12))
COMPLEX = X + 1j * X[::-1]


class TestFrequencies:
    @pytest.mark.parametrize("n", [0, 1, 4, 5])
    def test_of_elements(self, n):
        wanted = np.fft.fftfreq(n, 0.5) if n else np.zeros(0)
        np.testing.assert_allclose(torch.fft.fftfreq(n, 0.5).numpy(), wanted)
        if n:
            np.testing.assert_allclose(torch.fft.rfftfreq(n, 2.0).numpy(), np.fft.rfftfreq(n, 2.0))
        assert torch.fft.fftfreq(n, dtype=torch.float64).dtype is torch.float64


class TestTransforms:
    def test_precision_stays(self):
        x = torch.from_numpy(X)
        assert torch.fft.fft(x).dtype is torch.complex128
        assert torch.fft.fft(x.float()).dtype is torch.complex64
        assert torch.fft.rfft(x.long()).dtype is torch.complex64
        assert torch.fft.irfft(torch.fft.rfft(x.float())).dtype is torch.float32

    def test_inverses(self):
        x, z = torch.from_numpy(X), torch.from_numpy(COMPLEX)
        for norm in (None, "ortho", "forward"):
            for back, forth, given in (
                (torch.fft.ifft, torch.fft.fft, z), (torch.fft.irfft, torch.fft.rfft, x),
                (torch.fft.hfft, torch.fft.ihfft, x), (torch.fft.ifftn, torch.fft.fftn, z),
                (torch.fft.irfft2, torch.fft.rfft2, x), (torch.fft.hfftn, torch.fft.ihfftn, x),
            ):  # fmt: skip
                made = back(forth(given, norm=norm), norm=norm)
                np.testing.assert_allclose(made.numpy(), given.numpy(), atol=1e-12)

    def test_no_elements_and_no_dimensions(self):
        assert torch.fft.fft(torch.zeros(0, 3)).shape == (0, 3)
        made = torch.fft.fftn(torch.tensor(3.0))
        assert made.item() == 3 and made.dtype is torch.complex64
        assert torch.fft.rfft(torch.zeros(0, 4)).shape == (0, 3)

    def test_out(self):
        out = torch.zeros(0, dtype=torch.complex128)
        assert torch.fft.fft(torch.from_numpy(X), out=out) is out and out.shape == (2, 12)

    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (lambda f, x: f.fft(x, 0), RuntimeError, r"data points \(0\) specified"),
            (lambda f, x: f.fft(x, norm="x"), RuntimeError, 'normalization mode: "x"'),
            (lambda f, x: f.fft(torch.tensor(1.0)), IndexError, "tensor has no dimensions"),
            (lambda f, x: f.fft(x, dim=3), IndexError, "out of range"),
            (lambda f, x: f.fftn(x, dim=(0, 0)), RuntimeError, "dims must be unique"),
            (lambda f, x: f.fftn(x, (2,), (0, 1)), RuntimeError, "must have the same length"),
            (lambda f, x: f.fftn(x, (2, 3, 4)), RuntimeError, "shape with 3 values but"),
            (lambda f, x: f.rfft(f.fft(x)), RuntimeError, "rfft expects a real input tensor"),
            (lambda f, x: f.rfftn(f.fft(x)), RuntimeError, "rfftn expects a real-valued input"),
            (lambda f, x: f.fft(x.half()), RuntimeError, "Unsupported dtype Half"),
            (lambda f, x: f.irfft(torch.ones(1)), RuntimeError, r"data points \(0\) specified"),
            (lambda f, x: f.rfftn(x, dim=()), RuntimeError, "must transform at least one axis"),
            (lambda f, x: f.fft([1.0]), TypeError, r"fft\(\): argument 'input'"),
        ],
    )
    def test_refused(self, call, error, message):
        with pytest.raises(error, match=message):
            call(torch.fft, torch.from_numpy(X))


class TestFrames:
    @pytest.mark.parametrize("options", [
        {}, {"window": "hann"}, {"normalized": True}, {"onesided": False}, {"win_length": 3},
    ], ids=str)  # fmt: skip
    def test_the_inverse(self, options):
        if options.get("window"):
            options = {"window": torch.hann_window(4, dtype=torch.float64)}
        x = torch.from_numpy(X)
        spectra = torch.stft(x, 4, 1, return_complex=True, **options)
        made = torch.istft(spectra, 4, 1, **options)
        np.testing.assert_allclose(made.numpy(), X, atol=1e-12)
        np.testing.assert_allclose(x[0].stft(4, 1, return_complex=True, **options).numpy(),
                                   spectra[0].numpy(), atol=1e-12)  # fmt: skip

    def test_complex_signals(self):
        z = torch.from_numpy(COMPLEX)
        made = torch.istft(torch.stft(z, 4, 2), 4, 2, return_complex=True)
        np.testing.assert_allclose(made.numpy(), COMPLEX, atol=1e-12)

    def test_length(self):
        spectra = torch.stft(torch.from_numpy(X), 4, 2, return_complex=True)
        assert torch.istft(spectra, 4, 2, length=8).tolist() == pytest.approx(
            [pytest.approx(line) for line in X[:, :8].tolist()]
        )
        longer = torch.istft(spectra, 4, 2, length=20)
        assert longer.shape == (2, 20) and longer[:, 14:].abs().sum() == 0

    def test_frames_as_long_as_the_window(self):
        x, window = torch.from_numpy(X), torch.ones(2, dtype=torch.float64)
        options = {"center": False, "return_complex": True, "window": window, "win_length": 2}
        made = torch.stft(x, 4, 1, align_to_window=True, **options)
        wanted = torch.stft(x, 4, 1, **options)
        assert made.shape == (2, 3, 11)
        np.testing.assert_allclose(made[..., 1:10].numpy(), wanted.numpy(), atol=1e-12)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda x: torch.stft(x, 4), "requires the return_complex parameter"),
            (lambda x: torch.stft(x, 4, 0, return_complex=True), "expected hop_length > 0"),
            (lambda x: torch.stft(x, 4, win_length=5, return_complex=True), "0 < win_length <= n"),
            (lambda x: torch.stft(x, 40, center=False, return_complex=True), "0 < n_fft < 12"),
            (lambda x: torch.stft(x[None], 4, return_complex=True, center=False), "1D or 2D"),
            (lambda x: torch.stft(x.long(), 4, return_complex=True), "floating point or complex"),
            (lambda x: torch.stft(x, 4, window=torch.ones(3), return_complex=True), "1D window"),
            (lambda x: torch.stft(torch.fft.fft(x), 4, onesided=True), "onesided output"),
            (lambda x: torch.istft(x, 4), "requires a complex-valued input"),
            (lambda x: torch.istft(torch.fft.rfft(x[:, :4]), 4), "frequency dimension"),
        ],
    )
    def test_refused(self, call, message):
        with pytest.raises(RuntimeError, match=message):
            call(torch.from_numpy(X))

    def test_gaps_between_windows(self):
        spectra = torch.stft(torch.from_numpy(X), 4, 1, return_complex=True)
        with pytest.raises(RuntimeError, match="window overlap add min"):
            torch.istft(spectra, 4, 1, window=torch.zeros(4, dtype=torch.float64))


class TestWindows:
    @pytest.mark.parametrize("length", [0, 1, 2, 5, 8])
    @pytest.mark.parametrize(("name", "reference"), [
        ("hann", np.hanning), ("hamming", np.hamming), ("blackman", np.blackman),
        ("bartlett", np.bartlett), ("kaiser", lambda n: np.kaiser(n, 12.0)),
    ])  # fmt: skip
    def test_by_numpy(self, name, reference, length):
        function = getattr(torch, f"{name}_window")
        made = function(length, periodic=False, dtype=torch.float64)
        np.testing.assert_allclose(made.numpy(), reference(length), atol=1e-12)
        periodic = function(length, dtype=torch.float64).numpy()
        wanted = reference(length + 1)[:-1] if length > 1 else np.ones(length)
        np.testing.assert_allclose(periodic, wanted, atol=1e-12)

    def test_arguments(self):
        assert torch.hann_window(3, requires_grad=True).requires_grad
        np.testing.assert_allclose(
            torch.hamming_window(4, False, 0.3).numpy(), [-0.16, 0.53, 0.53, -0.16], rtol=1e-6
        )
        with pytest.raises(TypeError, match="'window_length' .position 1. must be int, not float"):
            torch.hann_window(2.5)
        with pytest.raises(RuntimeError, match="non-negative window_length"):
            torch.hann_window(-1)
        with pytest.raises(RuntimeError, match="expects floating point dtypes"):
            torch.hann_window(4, dtype=torch.int64)


#: Shapes whose lines have factors 2, 3, 4 and 5, few and many beside each other, or others.
SHAPES = [(1, 1), (3, 8), (40, 9), (17, 5), (5, 512), (33, 100), (2, 30, 7), (3, 16, 40), (4, 1200)]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES)
def test_lines_along_every_dimension_are_numpys(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(0)
    values = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    x, r = torch.tensor(values), torch.tensor(values.real.copy())
    bound = {"complex64": 1e-6, "complex128": 1e-14}[dtype]

    def check(made: torch.Tensor, expected: np.ndarray) -> None:
        assert made.shape == expected.shape and made.numpy().dtype.itemsize * 2 >= x.itemsize
        assert np.abs(made.numpy() - expected).max() <= bound * np.abs(expected).max()

    for dim, size in enumerate(shape):
        check(torch.fft.fft(x, dim=dim), np.fft.fft(values, axis=dim))
        check(torch.fft.ifft(x, dim=dim), np.fft.ifft(values, axis=dim))
        check(torch.fft.fft(r, dim=dim), np.fft.fft(values.real, axis=dim))
        check(torch.fft.ifft(r, dim=dim), np.fft.ifft(values.real, axis=dim))
        check(
            torch.fft.rfft(r, dim=dim, norm="ortho"),
            np.fft.rfft(values.real, axis=dim, norm="ortho"),
        )
        check(torch.fft.irfft(x, 2 * size, dim), np.fft.irfft(values, 2 * size, dim))
    check(torch.fft.fftn(x.mT), np.fft.fftn(values.swapaxes(-1, -2)))
    check(torch.fft.rfftn(r), np.fft.rfftn(values.real))
    check(torch.fft.irfftn(x, s=shape), np.fft.irfftn(values, shape, range(len(shape))))


def test_a_line_without_a_number_leaves_the_others_as_they_are() -> None:
    x = torch.ones(20, 16)
    x[3, 2] = float("nan")
    for made in (torch.fft.rfft(x), torch.fft.fft(x), torch.fft.irfft(torch.fft.rfft(x))):
        assert made.isnan().any(1).nonzero().flatten().tolist() == [3]


@pytest.mark.parametrize("size", [2, 4, 6, 8, 10, 12, 100, 128, 250, 256, 1000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_first_and_the_middle_of_a_real_transform_are_real(size, dtype):
    # A phase of such an element would be pi or -pi by the sign of a rounding error.
    x = torch.tensor(np.random.default_rng(size).standard_normal((40, size)), dtype=dtype)
    for found in (torch.fft.rfft(x), torch.fft.rfft(x.T, dim=0).T):
        ends = found.imag[:, [0, -1]].numpy()
        assert not ends.any() and not np.signbit(ends).any()
