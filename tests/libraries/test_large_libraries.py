"""The large libraries written for torch, unchanged: language models and pictures.

Models are small and random; what they compute is compared with itself computed in another way, and
with numbers that the same programs give with torch.
"""

import math

import pytest
import torch

IDS = torch.arange(12).reshape(2, 6) % 50


def filled(model):
    """The model, with weights that do not depend on random numbers."""
    with torch.no_grad():
        for position, (name, p) in enumerate(sorted(model.named_parameters())):
            is_scale = name.endswith("weight") and ("norm" in name.lower() or "ln_" in name)
            waves = torch.sin(torch.arange(p.numel(), dtype=torch.float32) * 0.37 + position)
            p.copy_(waves.reshape(p.shape) * 0.1 + is_scale)
    return model


def gradient_of(model) -> float:
    return sum(p.grad.abs().sum().item() for p in model.parameters() if p.grad is not None)


def test_transformers_bert():
    from transformers import BertConfig, BertModel

    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = BertConfig(
        vocab_size=50, intermediate_size=64, max_position_embeddings=32, **sizes
    )  # fmt: skip
    model = filled(BertModel(config).eval())
    states = model(IDS).last_hidden_state
    states.square().sum().backward()
    assert states.sum().item() == pytest.approx(11.118757, rel=1e-5)  # as with torch
    assert gradient_of(model) == pytest.approx(17629.1559, rel=1e-5)


def test_transformers_gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"n_positions": 32, "n_embd": 32, "n_layer": 2, "n_head": 4}
    config = GPT2Config(vocab_size=50, bos_token_id=None, eos_token_id=None, **sizes)
    model = filled(GPT2LMHeadModel(config).eval())
    loss = model(IDS, labels=IDS).loss
    loss.backward()
    assert loss.item() == pytest.approx(4.869025, rel=1e-5)
    assert gradient_of(model) == pytest.approx(2770.4532, rel=1e-4)
    options = {"max_new_tokens": 6, "pad_token_id": 0}
    greedy = model.generate(IDS[:, :3], do_sample=False, **options)
    assert greedy[0].tolist() == [0, 1, 2, 17, 33, 24, 24, 24, 7]
    beams = model.generate(IDS[:, :3], num_beams=3, **options)
    assert beams[0].tolist() == [0, 1, 2, 34, 33, 24, 24, 24, 7]


def test_transformers_llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    config = LlamaConfig(vocab_size=50, max_position_embeddings=64, **sizes, **heads)
    model = filled(LlamaForCausalLM(config).eval())
    options = {"max_new_tokens": 6, "pad_token_id": 0, "do_sample": True}
    torch.manual_seed(3)  # the same random numbers as torch's
    drawn = model.generate(IDS[:, :3], top_k=10, top_p=0.9, temperature=0.8, **options)
    assert drawn[0].tolist() == [0, 1, 2, 19, 9, 17, 25, 33, 40]
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    model.train()
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(IDS, labels=IDS).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    assert loss.item() == pytest.approx(3.657381, rel=1e-4)


def test_transformers_trainer(tmp_path):
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

    class Counting(torch.utils.data.Dataset):
        def __len__(self):
            return 16

        def __getitem__(self, position):
            ids = (torch.arange(8) + position) % 20
            return {"input_ids": ids, "labels": ids}

    sizes = {"n_positions": 16, "n_embd": 16, "n_layer": 1, "n_head": 2}
    config = GPT2Config(vocab_size=20, bos_token_id=None, eos_token_id=None, **sizes)
    options = TrainingArguments(
        output_dir=str(tmp_path), max_steps=8, per_device_train_batch_size=4, learning_rate=1e-2,
        report_to=[], logging_steps=1, save_steps=8, disable_tqdm=True, use_cpu=True,
    )  # fmt: skip
    trainer = Trainer(model=GPT2LMHeadModel(config), args=options, train_dataset=Counting())
    trainer.train()
    losses = [float(each["loss"]) for each in trainer.state.log_history if "loss" in each]
    assert len(losses) == 8 and losses[-1] < losses[0]
    assert (tmp_path / "checkpoint-8" / "model.safetensors").exists()


def test_diffusers():
    from diffusers import DDPMScheduler, UNet2DModel

    torch.manual_seed(0)
    net = UNet2DModel(
        sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, norm_num_groups=4,
        block_out_channels=(8, 16), down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"), attention_head_dim=4,
    )  # fmt: skip
    schedule = DDPMScheduler(num_train_timesteps=20)
    noise, steps = torch.randn(4, 1, 8, 8), torch.tensor([0, 5, 10, 19])
    noisy = schedule.add_noise(torch.ones(4, 1, 8, 8), noise, steps)
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = (net(noisy, steps).sample - noise).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    schedule.set_timesteps(3)
    x = torch.randn(1, 1, 8, 8)
    with torch.no_grad():
        for t in schedule.timesteps:
            x = schedule.step(net(x, t).sample, t, x).prev_sample
    assert x.isfinite().all()


def test_peft():
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(0)
    net = torch.nn.Sequential()
    net.first, net.act, net.second = torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)
    x = torch.randn(6, 4)
    before = net(x)
    tuned = get_peft_model(net, LoraConfig(r=2, target_modules=["first"]))
    assert torch.allclose(tuned(x), before)  # which begins as the net that it is added to
    trained = [p for p in tuned.parameters() if p.requires_grad]
    assert [tuple(p.shape) for p in trained] == [(2, 4), (8, 2)]
    optimizer = torch.optim.Adam(trained, 1e-1)
    for _ in range(3):
        optimizer.zero_grad()
        tuned(x).square().sum().backward()
        optimizer.step()
    after = tuned(x)
    assert torch.allclose(tuned.merge_and_unload()(x), after, atol=1e-5)
    assert not torch.allclose(after, before)


def test_vit_pytorch():
    from vit_pytorch import ViT

    net = ViT(
        image_size=16, patch_size=4, num_classes=3, dim=16, depth=1, heads=2, mlp_dim=32
    ).eval()  # fmt: skip
    pictures = torch.randn(2, 3, 16, 16)
    out = net(pictures)
    assert torch.allclose(out[1:], net(pictures[1:]), atol=1e-5)
    out.sum().backward()
    assert math.isfinite(gradient_of(net))


def test_botorch():
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.manual_seed(0)
    x = torch.linspace(0, 1, 8, dtype=torch.float64).unsqueeze(-1)
    y = -(x - 0.3).square()
    process = SingleTaskGP(x, y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(process.likelihood, process))
    bounds = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    improvement = LogExpectedImprovement(process, best_f=y.max())
    found, _ = optimize_acqf(improvement, bounds=bounds, q=1, num_restarts=2, raw_samples=16)
    assert found.item() == pytest.approx(0.3, abs=0.1)


def test_kornia():
    import kornia

    picture = torch.rand(1, 3, 8, 8, dtype=torch.float64, requires_grad=True)
    grey = kornia.color.rgb_to_grayscale(picture)
    factors = torch.tensor([0.299, 0.587, 0.114], dtype=torch.float64).view(1, 3, 1, 1)
    assert torch.allclose(grey, (picture * factors).sum(1, keepdim=True))
    blurred = kornia.filters.gaussian_blur2d(grey, (3, 3), (1.0, 1.0))
    assert blurred.sum().item() == pytest.approx(grey.sum().item(), rel=0.1)
    blurred.sum().backward()
    assert picture.grad.abs().sum() > 0
    turned = kornia.geometry.transform.rotate(grey, torch.tensor([360.0], dtype=torch.float64))
    assert torch.allclose(turned, grey, atol=1e-9)


def test_torchvision():
    import torchvision

    model = filled(torchvision.models.resnet18(num_classes=5))
    out = model(torch.randn(2, 3, 32, 32))
    out.logsumexp(1).sum().backward()
    assert out.shape == (2, 5) and math.isfinite(gradient_of(model))
    boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [1.0, 1.0, 3.0, 3.0]])
    overlap = torchvision.ops.box_iou(boxes, boxes)
    assert overlap[0, 1].item() == pytest.approx(1 / 7)
    transform = torchvision.transforms.Compose(
        [torchvision.transforms.CenterCrop(4), torchvision.transforms.Normalize([0.5], [0.5])]
    )
    assert transform(torch.ones(1, 8, 8)).tolist() == torch.ones(1, 4, 4).tolist()


def test_torchvisions_transforms_of_bytes():
    from torchvision import tv_tensors
    from torchvision.transforms import v2

    image = torch.arange(3 * 8 * 8).view(3, 8, 8).to(torch.uint8)
    resized = v2.functional.resize(image, [4, 4], antialias=True)
    assert resized.dtype is torch.uint8  # as torch and Pillow round
    assert resized[0].tolist() == [[7, 9, 11, 12], [21, 23, 25, 26], [37, 39, 41, 42],
                                   [51, 53, 55, 56]]  # fmt: skip
    boxes = tv_tensors.BoundingBoxes([[0, 0, 4, 2]], format="XYXY", canvas_size=(8, 8))
    both = v2.Compose([v2.Resize((16, 16)), v2.RandomHorizontalFlip(1.0)])
    shown, moved = both(tv_tensors.Image(image), boxes)
    assert shown.shape == (3, 16, 16) and moved.tolist() == [[8, 0, 16, 4]]
    turn = v2.Compose(
        [v2.RandomRotation(20), v2.AugMix(), v2.RandomPerspective(p=1.0), v2.ToDtype(torch.float32)]
    )
    assert turn(image).shape == (3, 8, 8)


def test_torchvisions_feature_extraction():
    from torchvision.models import resnet18
    from torchvision.models.feature_extraction import create_feature_extractor

    model, x = filled(resnet18()).eval(), torch.randn(1, 3, 32, 32)
    seen = []
    model.layer1.register_forward_hook(lambda module, args, output: seen.append(output))
    model(x)
    features = create_feature_extractor(model, {"layer1": "a", "layer2.0": "b"})(x)
    assert features["a"].equal(seen[0]) and features["b"].shape == (1, 128, 4, 4)


def test_e3nn():
    """A tensor product, whose code is a graph, turns with its inputs."""
    from e3nn import o3

    torch.manual_seed(0)
    irreps = o3.Irreps("2x0e + 1x1o")
    product = o3.FullyConnectedTensorProduct(irreps, irreps, irreps)
    x, y = irreps.randn(4, -1), irreps.randn(4, -1)
    turn = irreps.D_from_matrix(o3.rand_matrix())
    assert torch.allclose(product(x @ turn.T, y @ turn.T), product(x, y) @ turn.T, atol=1e-5)
    product(x, y).sum().backward()
    assert math.isfinite(gradient_of(product))


def test_torchaudio():
    import torchaudio

    wave = torch.sin(torch.arange(800) / 5)[None]
    mel = torchaudio.transforms.MelSpectrogram(16000, n_fft=128, n_mels=8)(wave)
    assert mel.shape == (1, 8, 13) and mel[0].sum(1).argmax() == 1
    coefficients = torch.tensor([1.0, -0.5]), torch.tensor([0.5, 0.0])
    filtered = torchaudio.functional.lfilter(wave, *coefficients, clamp=False)[0]
    expected, state = [], 0.0
    for value in wave[0].tolist():
        state = 0.5 * value + 0.5 * state
        expected.append(state)
    assert torch.allclose(filtered, torch.tensor(expected), atol=1e-6)
    assert torchaudio.functional.overdrive(wave).isfinite().all()
