"""Modules, layers, initial values, optimizers and files, as the guides to extending torch use them.

Rows of the table in ``compatibility_table.py``, section "nn as the extending guides use it".
"""

from compatibility_row import Row

#: The module of several rows.
NET = """\
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 4)
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(2)])
        self.register_buffer('scale', torch.ones(1))
        self.register_parameter('bias', None)

    def forward(self, x):
        x = torch.relu(self.first(x))
        for layer in self.layers:
            x = layer(x).tanh()
        return x * self.scale

"""

ROWS = [
    Row(
        "A module registers parameters, buffers and submodules",
        NET
        + """\
net = Net()
print([name for name, _ in net.named_parameters()])
print([name for name, _ in net.named_buffers()], [name for name, _ in net.named_children()])
print(list(net.state_dict()), net.bias)
print(net)
""",
        """\
['first.weight', 'first.bias', 'layers.0.weight', 'layers.0.bias', 'layers.1.weight', 'layers.1.bias']
['scale'] ['first', 'layers']
['scale', 'first.weight', 'first.bias', 'layers.0.weight', 'layers.0.bias', 'layers.1.weight', 'layers.1.bias'] None
Net(
  (first): Linear(in_features=3, out_features=4, bias=True)
  (layers): ModuleList(
    (0-1): 2 x Linear(in_features=4, out_features=4, bias=True)
  )
)
""",
    ),
    Row(
        "A layer of your own, with `extra_repr`",
        """\
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias

class Linear(torch.nn.Module):
    def __init__(self, input_features, output_features, bias=True):
        super().__init__()
        self.input_features = input_features
        self.output_features = output_features
        self.weight = torch.nn.Parameter(torch.empty(output_features, input_features))
        if bias:
            self.bias = torch.nn.Parameter(torch.empty(output_features))
        else:
            self.register_parameter('bias', None)
        torch.nn.init.uniform_(self.weight, -0.1, 0.1)
        if self.bias is not None:
            torch.nn.init.uniform_(self.bias, -0.1, 0.1)

    def forward(self, input):
        return LinearFunction.apply(input, self.weight, self.bias)

    def extra_repr(self):
        return 'input_features={}, output_features={}, bias={}'.format(
            self.input_features, self.output_features, self.bias is not None)

torch.manual_seed(0)
layer = Linear(3, 2)
y = layer(torch.ones(2, 3))
y.sum().backward()
print(layer, Linear(3, 2, bias=False))
print(y, layer.weight.grad, layer.bias.grad)
""",
        """\
Linear(input_features=3, output_features=2, bias=True) Linear(input_features=3, output_features=2, bias=False)
tensor([[-0.0314, -0.0060],
        [-0.0314, -0.0060]], grad_fn=<LinearFunctionBackward>) tensor([[2., 2., 2.],
        [2., 2., 2.]]) tensor([2., 2.])
""",
    ),
    Row(
        "`apply`, `train` and `eval`, `requires_grad_`, `zero_grad`",
        NET
        + """\
def init_weights(module):
    if isinstance(module, torch.nn.Linear):
        module.weight.data.fill_(0.5)

net = Net()
net.apply(init_weights)
print(net.layers[1].weight[0], net.training, net.eval().layers.training)
net.requires_grad_(False)
print(any(p.requires_grad for p in net.parameters()))
net.requires_grad_(True)(torch.ones(1, 3)).sum().backward()
net.zero_grad()
print([p.grad for p in net.parameters()])
""",
        """\
tensor([0.5000, 0.5000, 0.5000, 0.5000], grad_fn=<SelectBackward0>) True False
False
[None, None, None, None, None, None]
""",
    ),
    Row(
        "`to`, `double`, `half`, and `cuda` without a GPU",
        NET
        + """\
net = Net().double()
print(net.first.weight.dtype, net.scale.dtype, net.to(torch.float32).scale.dtype)
print(net.half().first.bias.dtype, net.to('cpu') is net, net.float().scale.dtype)
try:
    net.to(torch.int64)
except TypeError as error:
    print(error)
try:
    net.cuda()
except (AssertionError, RuntimeError) as error:
    print('no GPU')
""",
        """\
torch.float64 torch.float64 torch.float32
torch.float16 True torch.float32
nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int64
no GPU
""",
    ),
    Row(
        "`state_dict` and `load_state_dict`: what is missing, unexpected, of another size",
        NET
        + """\
net = Net()
state = net.state_dict()
print(net.load_state_dict(state))
del state['first.bias']
state['second.weight'] = torch.ones(2)
state['scale'] = torch.ones(3)
try:
    net.load_state_dict(state)
except RuntimeError as error:
    print(error)
state['scale'] = torch.ones(1)
print(net.load_state_dict(state, strict=False))
""",
        """\
<All keys matched successfully>
Error(s) in loading state_dict for Net:
	Missing key(s) in state_dict: "first.bias". 
	Unexpected key(s) in state_dict: "second.weight". 
	size mismatch for scale: copying a param with shape torch.Size([3]) from checkpoint, the shape in current model is torch.Size([1]).
_IncompatibleKeys(missing_keys=['first.bias'], unexpected_keys=['second.weight'])
""",
    ),
    Row(
        "Hooks of modules: the order, and what they return",
        """\
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh())
def hook(name):
    return lambda module, *values: print(name, type(module).__name__)
for module in (net, net[0]):
    module.register_forward_pre_hook(hook('before'))
    module.register_forward_hook(hook('after'))
    module.register_full_backward_pre_hook(hook('before backward'))
    module.register_full_backward_hook(hook('backward'))
net[1].register_forward_hook(lambda module, args, output: output * 2)
handle = net[1].register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] * 0,))
x = torch.ones(1, 2, requires_grad=True)
net(x).sum().backward()
handle.remove()
print(x.grad, len(net[1]._backward_hooks))
""",
        """\
before Sequential
before Linear
after Linear
after Sequential
before backward Sequential
before backward Linear
backward Linear
backward Sequential
tensor([[0., 0.]]) 0
""",
    ),
    Row(
        "`Parameter`: a leaf that assigning registers; other tensors are refused in its place",
        """\
layer = torch.nn.Linear(2, 1)
print(torch.nn.Parameter(torch.tensor([1.0, 2.0])))
try:
    layer.weight = torch.ones(1, 2)
except TypeError as error:
    print(error)
layer.weight = torch.nn.Parameter(torch.ones(1, 2))
layer.extra = torch.nn.Parameter(torch.zeros(1), requires_grad=False)
print(layer.weight.is_leaf, [name for name, _ in layer.named_parameters()])
del layer.extra
print(hasattr(layer, 'extra'), isinstance(layer.weight, torch.Tensor))
""",
        """\
Parameter containing:
tensor([1., 2.], requires_grad=True)
cannot assign 'torch.FloatTensor' as parameter 'weight' (torch.nn.Parameter or None expected)
True ['weight', 'bias', 'extra']
False True
""",
    ),
    Row(
        "`Sequential`, `ModuleList`, `ModuleDict`, `ParameterList`, and their text",
        """\
from collections import OrderedDict
nn = torch.nn
print(nn.Sequential(OrderedDict([('fc', nn.Linear(2, 3)), ('act', nn.ReLU(inplace=True))])))
print(nn.ModuleList([nn.Linear(2, 2) for _ in range(3)]).append(nn.Dropout(0.2)))
print(nn.ModuleDict({'conv': nn.Conv2d(1, 4, 3), 'pool': nn.MaxPool2d(2)}))
print(nn.ParameterList([torch.zeros(2), torch.ones(2, 3)]))
net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
print(len(net), net[-1], net[:2], sep='\\n')
""",
        """\
Sequential(
  (fc): Linear(in_features=2, out_features=3, bias=True)
  (act): ReLU(inplace=True)
)
ModuleList(
  (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
  (3): Dropout(p=0.2, inplace=False)
)
ModuleDict(
  (conv): Conv2d(1, 4, kernel_size=(3, 3), stride=(1, 1))
  (pool): MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)
)
ParameterList(
    (0): Parameter containing: [torch.float32 of size 2]
    (1): Parameter containing: [torch.float32 of size 2x3]
)
3
Linear(in_features=3, out_features=1, bias=True)
Sequential(
  (0): Linear(in_features=2, out_features=3, bias=True)
  (1): ReLU()
)
""",
    ),
    Row(
        "Activations",
        """\
x = torch.tensor([-2.0, -0.5, 0.0, 1.5])
nn = torch.nn
for f in (nn.ReLU(), nn.LeakyReLU(0.1), nn.ELU(), nn.SELU(), nn.GELU(), nn.SiLU(), nn.Sigmoid(),
          nn.Tanh(), nn.Softplus(), nn.Hardtanh(), nn.LogSigmoid(), nn.Softmax(dim=0), nn.PReLU()):
    print(f, f(x).detach())
""",
        """\
ReLU() tensor([0.0000, 0.0000, 0.0000, 1.5000])
LeakyReLU(negative_slope=0.1) tensor([-0.2000, -0.0500,  0.0000,  1.5000])
ELU(alpha=1.0) tensor([-0.8647, -0.3935,  0.0000,  1.5000])
SELU() tensor([-1.5202, -0.6918,  0.0000,  1.5761])
GELU(approximate='none') tensor([-0.0455, -0.1543,  0.0000,  1.3998])
SiLU() tensor([-0.2384, -0.1888,  0.0000,  1.2264])
Sigmoid() tensor([0.1192, 0.3775, 0.5000, 0.8176])
Tanh() tensor([-0.9640, -0.4621,  0.0000,  0.9051])
Softplus(beta=1.0, threshold=20.0) tensor([0.1269, 0.4741, 0.6931, 1.7014])
Hardtanh(min_val=-1.0, max_val=1.0) tensor([-1.0000, -0.5000,  0.0000,  1.0000])
LogSigmoid() tensor([-2.1269, -0.9741, -0.6931, -0.2014])
Softmax(dim=0) tensor([0.0217, 0.0975, 0.1607, 0.7201])
PReLU(num_parameters=1) tensor([-0.5000, -0.1250,  0.0000,  1.5000])
""",
    ),
    Row(
        "`Dropout` in training and in evaluation, from a seed",
        """\
torch.manual_seed(0)
layer = torch.nn.Dropout(0.4)
print(layer, layer(torch.ones(10)), layer.eval()(torch.ones(3)))
""",
        """\
Dropout(p=0.4, inplace=False) tensor([0.0000, 0.0000, 1.6667, 0.0000, 0.0000, 0.0000, 1.6667, 1.6667, 1.6667,
        1.6667]) tensor([1., 1., 1.])
""",
    ),
    Row(
        "`MSELoss` and `CrossEntropyLoss`",
        """\
torch.manual_seed(0)
x = torch.randn(3, 4, requires_grad=True)
print(torch.nn.MSELoss()(x, torch.ones(3, 4)), torch.nn.MSELoss(reduction='sum')(x, x * 2))
target = torch.tensor([0, 3, -100])
print(torch.nn.CrossEntropyLoss()(x, target))
print(torch.nn.CrossEntropyLoss(label_smoothing=0.1)(x, target))
print(torch.nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2, 3, 4]), reduction='none')(x, target))
print(torch.nn.CrossEntropyLoss()(x, torch.softmax(torch.ones(3, 4), 1)).detach())
torch.nn.CrossEntropyLoss()(x, torch.tensor([0, 3, 4]))
""",
        """\
tensor(2.5734, grad_fn=<MseLossBackward0>) tensor(12.5974, grad_fn=<MseLossBackward0>)
tensor(0.5441, grad_fn=<NllLossBackward0>)
tensor(0.6831, grad_fn=<AddBackward0>)
tensor([0.4460, 2.5685, 0.0000], grad_fn=<NllLossBackward0>)
tensor(1.7731)
IndexError: Target 4 is out of bounds.
""",
    ),
    Row(
        "`nn.init`: the numbers of torch from one seed",
        """\
torch.manual_seed(0)
init = torch.nn.init
print(torch.nn.Linear(2, 3).weight.data)
for fill in (init.uniform_, init.normal_, init.xavier_uniform_, init.xavier_normal_,
             init.kaiming_uniform_, init.kaiming_normal_, init.trunc_normal_):
    print(fill.__name__, fill(torch.empty(2, 3)))
print(init.orthogonal_(torch.empty(2, 2)), init.eye_(torch.empty(2, 2)))
print(init.calculate_gain('leaky_relu', 0.2))
""",
        """\
tensor([[-0.0053,  0.3793],
        [-0.5820, -0.5204],
        [-0.2723,  0.1896]])
uniform_ tensor([[0.6323, 0.3489, 0.4017],
        [0.0223, 0.1689, 0.2939]])
normal_ tensor([[ 0.6035,  0.8110, -0.0451],
        [ 0.8797,  1.0482, -0.0445]])
xavier_uniform_ tensor([[-1.0162, -0.6896, -0.2773],
        [-0.4270,  0.9465, -0.7100]])
xavier_normal_ tensor([[ 0.2627,  0.4064, -1.3839],
        [ 0.5642,  0.4715, -0.1556]])
kaiming_uniform_ tensor([[-0.7291,  0.8923,  0.8292],
        [-0.6272, -0.0510,  0.9045]])
kaiming_normal_ tensor([[ 1.0070, -0.1496, -1.0729],
        [-1.3794,  1.0227, -0.4528]])
trunc_normal_ tensor([[ 0.3019,  1.1295,  1.7179],
        [-0.8507, -0.8486, -0.1848]])
tensor([[-0.6847, -0.7288],
        [-0.7288,  0.6847]]) tensor([[1., 0.],
        [0., 1.]])
1.3867504905630728
""",
    ),
    Row(
        "A network trained with every optimizer named",
        """\
def train(make, steps=20):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    optimizer = make(net.parameters())
    def closure():
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward()
        return loss
    for _ in range(steps):
        loss = optimizer.step(closure)
    return round(loss.item(), 4)

optim = torch.optim
print(train(lambda p: optim.SGD(p, lr=0.1)), train(lambda p: optim.SGD(p, lr=0.1, momentum=0.9)))
print(train(lambda p: optim.Adam(p, lr=0.01)), train(lambda p: optim.AdamW(p, lr=0.01)))
print(train(optim.RMSprop), train(lambda p: optim.Adagrad(p, lr=0.1)), train(optim.Adadelta))
print(train(lambda p: optim.LBFGS(p, lr=0.5, max_iter=3), 3))
print(optim.Adam([torch.nn.Parameter(torch.ones(1))]))
""",
        """\
0.6151 0.4019
0.6875 0.6876
0.4504 0.4569 0.862
0.6266
Adam (
Parameter Group 0
    amsgrad: False
    betas: (0.9, 0.999)
    capturable: False
    decoupled_weight_decay: False
    differentiable: False
    eps: 1e-08
    foreach: None
    fused: None
    lr: 0.001
    maximize: False
    weight_decay: 0
)
""",
    ),
    Row(
        "`lr_scheduler`",
        """\
parameter = torch.nn.Parameter(torch.ones(1))
def rates(make, steps=6):
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    scheduler = make(optimizer)
    found = []
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        found.append(round(scheduler.get_last_lr()[0], 4))
    return found

s = torch.optim.lr_scheduler
print(rates(lambda o: s.StepLR(o, 2)), rates(lambda o: s.ExponentialLR(o, 0.9)))
print(rates(lambda o: s.MultiStepLR(o, [2, 4], 0.5)), rates(lambda o: s.CosineAnnealingLR(o, 6)))
print(rates(lambda o: s.LambdaLR(o, lambda epoch: 1 / (1 + epoch))))
print(rates(lambda o: s.OneCycleLR(o, 1.0, total_steps=7)))
""",
        """\
[1.0, 0.1, 0.1, 0.01, 0.01, 0.001] [0.9, 0.81, 0.729, 0.6561, 0.5905, 0.5314]
[1.0, 0.5, 0.5, 0.25, 0.25, 0.25] [0.933, 0.75, 0.5, 0.25, 0.067, 0.0]
[0.5, 0.3333, 0.25, 0.2, 0.1667, 0.1429]
[0.9806, 0.919, 0.6727, 0.3577, 0.0993, 0.0]
""",
    ),
    Row(
        "`clip_grad_norm_` and `clip_grad_value_`",
        """\
p = torch.nn.Parameter(torch.zeros(2))
p.grad = torch.tensor([3.0, -4.0])
print(torch.nn.utils.clip_grad_norm_([p], 1.0), p.grad)
torch.nn.utils.clip_grad_value_(p, 0.7)
print(p.grad)
""",
        """\
tensor(5.) tensor([ 0.6000, -0.8000])
tensor([ 0.6000, -0.7000])
""",
    ),
    Row(
        "`save` and `load`",
        """\
import os, tempfile
net = torch.nn.Linear(2, 1)
optimizer = torch.optim.Adam(net.parameters())
net(torch.ones(1, 2)).sum().backward()
optimizer.step()
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, 'checkpoint.pt')
    torch.save({'model': net.state_dict(), 'optimizer': optimizer.state_dict(), 'epoch': 3}, path)
    checkpoint = torch.load(path)
twin = torch.nn.Linear(2, 1)
print(twin.load_state_dict(checkpoint['model']), checkpoint['epoch'])
print(torch.equal(twin.weight, net.weight), checkpoint['optimizer']['state'][0]['step'])
""",
        """\
<All keys matched successfully> 3
True tensor(1.)
""",
    ),
    Row(
        "`DataLoader` shuffles as torch does",
        """\
data = torch.utils.data
torch.manual_seed(0)
rows = data.TensorDataset(torch.arange(10.0).view(5, 2), torch.arange(5))
for x, y in data.DataLoader(rows, batch_size=2, shuffle=True):
    print(x.tolist(), y)
print([part.indices for part in data.random_split(rows, [3, 2])])
""",
        """\
[[2.0, 3.0], [8.0, 9.0]] tensor([1, 4])
[[4.0, 5.0], [6.0, 7.0]] tensor([2, 3])
[[0.0, 1.0]] tensor([0])
[[3, 4, 0], [1, 2]]
""",
    ),
    Row(
        "A recurrent, a convolutional and an attention layer, from one seed",
        """\
torch.manual_seed(0)
nn = torch.nn
output, (h, c) = nn.LSTM(2, 3)(torch.randn(4, 1, 2))
print(nn.LSTM(2, 3, num_layers=2), output.shape, c)
image = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.MaxPool2d(2))(torch.randn(1, 1, 4, 4))
print(image)
x = torch.randn(3, 1, 4)
print(nn.MultiheadAttention(4, 2)(x, x, x)[1])
""",
        """\
LSTM(2, 3, num_layers=2) torch.Size([4, 1, 3]) tensor([[[-0.1186, -0.4875, -0.0374]]], grad_fn=<StackBackward0>)
tensor([[[[0.3195, 0.3789],
          [0.5279, 0.2982]],

         [[0.3551, 0.2441],
          [0.4369, 0.0405]]]], grad_fn=<MaxPool2DWithIndicesBackward0>)
tensor([[[0.2816, 0.2841, 0.4342],
         [0.3567, 0.3905, 0.2528],
         [0.4230, 0.3491, 0.2278]]], grad_fn=<MeanBackward1>)
""",
    ),
]
