"""Libraries written for torch, unchanged: from one seed, the numbers that torch 2.13 gives."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)
    np.random.seed(0)


def first(tensor):
    return tensor.detach().flatten()[:6].tolist()


def are(found, expected):
    return found == pytest.approx(expected, abs=6e-5)


def losses(optimizer_of, steps):
    """A linear layer, fitted to zero."""
    layer = nn.Linear(3, 2)
    inputs = torch.randn(5, 3)
    optimizer, found = optimizer_of(layer.parameters()), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = layer(inputs).pow(2).mean()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def test_ranger21(capsys):
    from ranger21 import Ranger21

    options = {"lr": 1e-2, "num_epochs": 2, "num_batches_per_epoch": 3}
    found = losses(lambda parameters: Ranger21(parameters, **options), 4)
    assert are(found, [0.33418, 0.31103, 0.30535, 0.29479])


def test_madgrad():
    from madgrad import MADGRAD

    found = losses(lambda parameters: MADGRAD(parameters, lr=0.1), 3)
    assert are(found, [0.33418, 0.30514, 0.25972])


def test_pytorch_crf():
    from torchcrf import CRF

    model, emissions = CRF(3), torch.randn(4, 2, 3)
    loss = -model(emissions, torch.tensor([[0, 1], [2, 0], [1, 1], [0, 2]]))
    loss.backward()
    assert are(loss.item(), 10.02319)
    assert model.decode(emissions) == [[0, 2, 0, 2], [1, 2, 2, 1]]
    expected = [0.7007, -0.3467, 0.1081, -1.4807, 0.2522, -0.4314]
    assert are(first(model.transitions.grad), expected)


def test_backpack():
    from backpack import backpack, extend
    from backpack.extensions import BatchGrad, DiagGGNExact

    model = extend(nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 2)))
    inputs, target = torch.randn(5, 3), torch.tensor([0, 1, 0, 1, 0])
    with backpack(BatchGrad(), DiagGGNExact()):
        extend(nn.CrossEntropyLoss())(model(inputs), target).backward()
    weight = model[0].weight
    expected = [0.0004, 0.0004, 0.0005, -0.0031, -0.0029, -0.0035]
    assert are(first(weight.grad_batch), expected) and (weight.diag_ggn_exact >= 0).all()
    assert are(weight.grad_batch.sum(0).flatten().tolist(), weight.grad.flatten().tolist())


def test_egnn():
    from egnn_pytorch import EGNN

    features, positions = EGNN(dim=8)(torch.randn(1, 4, 8), torch.randn(1, 4, 3))
    assert are(first(features), [-0.5848, 0.1465, 0.3427, 0.7187, 0.6128, -0.0685])
    assert are(first(positions), [-1.1711, -1.3392, 0.3160, -0.6294, -1.1042, 0.2180])


def test_linformer():
    from linformer import Linformer

    made = Linformer(dim=16, seq_len=8, depth=1, heads=2, k=4)(torch.randn(1, 8, 16))
    assert are(first(made), [-1.7322, -0.0713, -0.3797, 0.8635, -0.5452, 1.6524])


def test_pytorch_msssim():
    from pytorch_msssim import ssim

    picture = torch.rand(1, 1, 16, 16)
    assert are(ssim(picture, picture.flip(-1), data_range=1.0).item(), -0.1882)


def test_torchattacks():
    import torchattacks

    model = nn.Sequential(nn.Flatten(), nn.Linear(12, 3)).eval()
    pictures, labels = torch.rand(4, 3, 2, 2), torch.tensor([0, 1, 2, 0])
    attack = torchattacks.PGD(model, eps=0.1, alpha=0.05, steps=3, random_start=False)
    made = attack(pictures, labels)
    assert are(first(made), [0.6423, 0.4263, 0.3437, 0.6846, 0.1332, 0.1887])
    assert F.cross_entropy(model(made), labels) > F.cross_entropy(model(pictures), labels)


def test_eagerpy():
    import eagerpy

    wrapped = eagerpy.astensor(torch.arange(6.0).reshape(2, 3))
    assert type(wrapped).__name__ == "PyTorchTensor"  # by the module of the class
    assert are(wrapped.square().sum(axis=1).sqrt().raw.tolist(), [5**0.5, 50**0.5])


def test_timm():
    import timm

    options = {"img_size": 32, "patch_size": 8, "depth": 1, "num_classes": 3}
    model = timm.create_model("vit_tiny_patch16_224", **options)
    pictures, labels = torch.randn(2, 3, 32, 32), torch.tensor([0, 2])
    optimizer, found = torch.optim.SGD(model.parameters(), lr=1e-3), []
    for _ in range(4):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(pictures), labels)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    assert are(found, [1.16119, 0.90896, 0.73127, 0.60279])


def net():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 4),
    )


def test_thop():
    from thop import profile

    assert profile(net(), (torch.randn(1, 3, 8, 8),), verbose=False) == (16424.0, 276.0)


def test_torchsummary(capsys):
    import torchsummary

    torchsummary.summary(net(), (3, 8, 8), device="cpu")
    assert "Total params: 276" in capsys.readouterr().out


def test_torch_ema():
    from torch_ema import ExponentialMovingAverage

    model = net()
    average = ExponentialMovingAverage(model.parameters(), 0.9)
    for parameter in model.parameters():
        parameter.data.add_(1)
    average.update()
    with average.average_parameters():
        total = sum([parameter.sum().item() for parameter in model.parameters()])
    assert total == pytest.approx(230.812, abs=1e-3)


def test_nnaudio():
    from nnAudio.features import CQT1992v2, MelSpectrogram

    x = torch.randn(1, 8000)
    mel = MelSpectrogram(sr=8000, n_fft=512, verbose=False)(x).sum().item()
    constant_q = CQT1992v2(sr=8000, fmin=200, n_bins=24, verbose=False)(x).sum().item()
    assert [mel, constant_q] == pytest.approx([24536.68, 389.12], rel=1e-4)


def test_vector_quantize_pytorch():
    from vector_quantize_pytorch import FSQ, ResidualVQ, VectorQuantize

    quantise, x = VectorQuantize(dim=8, codebook_size=16, decay=0.8), torch.randn(2, 10, 8)
    x.requires_grad_()
    out, indices, loss = quantise(x)
    (out.sum() + loss.sum()).backward()
    assert indices.flatten()[:5].tolist() == [6, 13, 6, 4, 5] and are(loss.item(), 0.61759)
    assert FSQ([8, 5, 5])(torch.randn(1, 4, 3))[1].tolist() == [[110, 21, 151, 40]]
    found = ResidualVQ(dim=8, num_quantizers=2, codebook_size=8)(torch.randn(1, 4, 8))[1]
    assert found.tolist() == [[[3, 0], [7, 7], [7, 2], [7, 2]]]


def test_monai():
    from monai.losses import DiceLoss
    from monai.networks.nets import UNet

    model = UNet(spatial_dims=2, in_channels=1, out_channels=2, channels=(4, 8), strides=(2,))
    loss = DiceLoss(softmax=True, to_onehot_y=True)(
        model(torch.randn(1, 1, 16, 16)), torch.ones(1, 1, 16, 16)
    )
    loss.backward()
    assert loss.item() == pytest.approx(0.7039, abs=1e-4)


def test_flow_matching():
    from flow_matching.path import CondOTProbPath

    sample = CondOTProbPath().sample(t=torch.rand(4), x_0=torch.randn(4, 2), x_1=torch.randn(4, 2))
    assert sample.x_t.sum().item() == pytest.approx(-1.3574, abs=1e-4)


def test_asteroid_filterbanks():
    from asteroid_filterbanks import STFTFB, Decoder, Encoder

    filters = STFTFB(kernel_size=64, n_filters=64)
    back = Decoder(filters)(Encoder(filters)(torch.randn(1, 1, 256)))
    assert back.sum().item() == pytest.approx(8.585, abs=1e-3)


def test_efficientnet_pytorch():
    from efficientnet_pytorch import EfficientNet

    model = EfficientNet.from_name("efficientnet-b0", num_classes=3).eval()
    assert model(torch.randn(1, 3, 32, 32)).shape == (1, 3)


def test_performer_pytorch():
    from performer_pytorch import Performer

    model = Performer(dim=16, depth=1, heads=2, dim_head=8, causal=False)
    model(torch.randn(1, 10, 16)).sum().backward()
    assert all(x.grad.isfinite().all() for x in model.parameters() if x.grad is not None)


def test_torchvisions_detection():
    from torchvision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn as make

    model = make(weights=None, weights_backbone=None, num_classes=3, min_size=64, max_size=64)
    boxes = torch.tensor([[5.0, 5, 30, 40]])
    losses = model([torch.rand(3, 64, 64)], [{"boxes": boxes, "labels": torch.tensor([1])}])
    sum(losses.values()).backward()
    found = [losses[f"loss_{name}"].item() for name in ("classifier", "box_reg", "objectness")]
    assert found == pytest.approx([1.1012, 0.3593, 0.6938], abs=2e-4)


def test_ptflops_sees_the_operators_of_torchs_dispatcher():
    from ptflops import get_model_complexity_info

    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(128, 10),
    )  # fmt: skip
    counted = get_model_complexity_info(
        model, (3, 8, 8), as_strings=False, print_per_layer_stat=False, backend="aten"
    )
    assert counted == (15626, 1530)  # as with torch
