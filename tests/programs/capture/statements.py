"""The statements of random training programs, as Python source.

They take a batch `x` of 4 rows of 6, with labels `target`; `h` is where a forward pass
stands, `L` the library, `F` its functions. `{i}` is the number of an earlier `h`, `{n}`
one from 0 to 3.

Nothing is here that decides by values or changes Python's state, since a replay does
not do that again.
"""

from __future__ import annotations

from typing import Final


def _lines(text: str) -> tuple[str, ...]:
    """Statements of one line each."""
    return tuple(text.strip("\n").split("\n"))


def _blocks(text: str) -> tuple[str, ...]:
    """Statements of several lines, parted by empty ones."""
    return tuple(text.strip("\n").split("\n\n"))


LAYERS: Final = (
    "L.nn.Linear(6, 6)", "L.nn.Linear(6, 6, bias=False)", "L.nn.LayerNorm(6)",
    "L.nn.BatchNorm1d(6)", "L.nn.BatchNorm1d(6, momentum=0.3, affine=False)",
    "L.nn.BatchNorm1d(6, track_running_stats=False)", "L.nn.GroupNorm(2, 6)",
    "L.nn.RMSNorm(6)", "L.nn.Dropout(0.3)", "L.nn.Dropout(0.3, inplace=True)",
    "L.nn.ReLU()", "L.nn.ReLU(inplace=True)", "L.nn.GELU()", "L.nn.SiLU()",
    "L.nn.Tanh()", "L.nn.PReLU()", "L.nn.ELU(inplace=True)", "L.nn.Softmax(1)",
    "L.nn.Softplus()", "L.nn.LeakyReLU(0.2, inplace=True)", "L.nn.Hardswish()",
)  # fmt: skip
# Layers that take another shape: how they are made, and called.
SHAPED: Final = (
    ("L.nn.Conv1d(1, 3, 3, padding=1)", "m(h.unsqueeze(1)).mean(1)"),
    (
        "L.nn.Conv2d(1, 2, 2)",
        "m(F.pad(h.view(4, 1, 2, 3), (1, 0, 1, 0))).sum(1).view(4, 6)",
    ),
    ("L.nn.MaxPool1d(3, 1, 1)", "m(h)"),
    ("L.nn.AvgPool1d(3, 1, 1)", "m(h)"),
    ("L.nn.Embedding(5, 6)", "h + m(target)"),
    ("L.nn.Bilinear(6, 6, 6)", "m(h, x)"),
    ("L.nn.MultiheadAttention(6, 2, dropout=0.2)", "m(h, h, h)[0]"),
    ("L.nn.Dropout1d(0.4)", "m(h.unsqueeze(1)).squeeze(1)"),
    ("L.nn.GLU()", "m(L.cat([h, x], 1))"),
)
# What else a forward pass does.
FORWARD: Final = _lines("""
h = h + h{i}
h = h * h{i}.detach()
h = (h - h{i}).tanh()
h = h @ w
h = h * scale + 1.5
h = h / (h{i}.abs() + 1)
h = 1 - h
h = h ** 2
h = h.double().mul(2).float()
h = h.bfloat16().float()
h = h.flip(0)
h = h.t().contiguous().t()
h = h.roll(1, 1)
h = h[[{n}, 0, 1, 2]]
h = h.gather(1, h{i}.argsort(1))
h = h.sort(1)[0]
h = h.index_select(0, target.clamp(max=3))
h = L.where(h{i} > 0, h, h * 0.1)
h = h.masked_fill(h{i} > 1, 0.5)
h = L.cat([h[:, 3:], h{i}[:, :3]], 1)
h = L.stack(h.chunk(2, 1)).sum(0).repeat(1, 2)
h = h.cumsum(1) * 0.1
h = h - h.logsumexp(1, keepdim=True)
h = h.clamp(-2, 2)
h = h.view(2, 12).reshape(4, 6)
h = h.expand(2, 4, 6).mean(0)
h = h.unfold(1, 3, 1).sum(2).repeat(1, 2)[:, :6]
h = h.detach()
h = h.detach().requires_grad_()
h = h.clone()
h = h + counter
h = h + 0.1 * L.randn_like(h)
h = h * L.rand(4, 6)
h = h + L.rand(4, 6, generator=source)
h = F.dropout(h, 0.2)
h = h + L.randint(0, 3, (4, 6))
h = h[L.randperm(4)]
h = h * L.bernoulli(h{i}.sigmoid())
h = F.dropout(h, 0.3, training=False)
h = h + L.empty(6).normal_().mul_(0.1)
h = F.alpha_dropout(h, 0.2)
h = h + F.one_hot(target, 6)
h = h + L.tensor([1.0, 0.5, 0.0, 0.25, 2.0, 1.0])
h = h + L.arange(6) * 0.1
h = h + L.zeros(6).add_(1)
h = F.scaled_dot_product_attention(h[None], x[None], h{i}[None])[0]
h = F.normalize(h, dim=1)
h = F.layer_norm(h, (6,), w[0])
h = L.einsum('ij,jk->ik', h, w)
h = h.add(h{i}, alpha=0.5).lerp(x, 0.25)
h = h.to(L.float64).to(L.float32)
seen.append(h)
seen.append(h.detach())
seen.append(h[1])
h = L.maximum(h, h{i})
h = h.mean(0).expand(4, 6)
h = outer(h)
h = h + offset
h = h + rows.sum(0)
h = h * row
h = L.nn.Linear(6, 6)(h)
h = L.nn.BatchNorm1d(6)(h)
running.data = h.detach().mean(0)
running[:] = h[0].detach()
average.data = h.detach().repeat(2, 1)[:6]
seen.append(h.t())
seen.append(x)
seen.append(h.detach()[0])
x.mul_(0.5)
h.detach_()
h = x
h = h.as_strided((4, 6), (1, 4)) if h.is_contiguous() else h
h = F.linear(h, w.detach(), running)
h = h + (h > 0).float().mean()
h = h * L.linspace(0, 1, 6)
h = h * 1 if h.requires_grad else h.clone().requires_grad_() * 1
h = L.cdist(h, h{i}).repeat(1, 2)[:, :6] if hasattr(L, 'cdist') else h
h = h.float().half().float()
h = L.nn.utils.parameters_to_vector([w])[:6] * h
""") + _blocks("""
h = h * 1
h[:, 0] *= 2

h = h * 1
h[{n}] = h{i}[0]

h = h * 1
h.t().add_(w[:, :4])

h = h * 1
h.view(24)[3:9].mul_(0.5)

h = h * 1
h.add_(h{i})

h = h * 1
h.copy_(h{i})

h = h * 1
h[h > 1] = 0.25

h = h * 1
v = h[1:3]
h.mul_(2)
h = h + v.sum()

h = h * 1
h.diagonal().zero_()

h = h * 1
h.clamp_(max=1.5).sigmoid_()

h = h * 1
h.index_add_(0, target.clamp(max=3), h{i})

h = h * 1
h.index_put_((target.clamp(max=3),), x, accumulate=True)

h = h * 1
h.scatter_(1, target.unsqueeze(1), 0.5)

h = h * 1
h.detach().mul_(0.5)

h = h * 1
h.data.add_(0.1)

h = h * 1
h.t_()
h.t_()
h.mul_(1.5)

h = h * 1
h.fill_(0.5)
h = h + h{i}

with L.no_grad():
    s = h.abs().mean()
h = h / (s + 1)

with L.no_grad():
    h = h * 0.5

with L.no_grad():
    counter.add_(1)

with L.no_grad():
    running.mul_(0.9).add_(h.mean(0), alpha=0.1)
h = h - running

L.set_grad_enabled(False)
s = h.var()
L.set_grad_enabled(True)
h = h + s

with L.random.fork_rng():
    h = h + L.rand(6)

with L.autocast('cpu', dtype=L.bfloat16):
    h = (h @ w).float()

with L.autocast('cpu', dtype=L.bfloat16):
    h = F.gelu(F.linear(h, w)).float()

with L.autocast('cpu', dtype=L.float16):
    h = F.layer_norm(h @ w, (6,)).float()

if h.requires_grad:
    h.register_hook(lambda g: g * 0.5)

if h.requires_grad:
    h.register_hook(lambda g: g + x)

if h.requires_grad:
    h.retain_grad()
    seen.append(h)

p = L.nn.Parameter(h.detach() * 2)
seen.append(p)
h = h + p * x

q = L.Generator()
h = h + L.rand(6, generator=q)

q = source.clone_state()
h = h + L.rand(6, generator=q)

with L.no_grad():
    L.add(h, x, out=buffer)
h = h + buffer

with L.no_grad():
    row.add_(0.1)

average.t_()
average.add_(1)
average.t_()

running.unsqueeze_(0)
running.squeeze_(0)

t = L.tensor([1.0, 2.0])
t.mul_(2)
h = h * t.repeat(3)

t = L.ones(6)
t[1:3] = L.tensor([0.5, 3.0])
h = h * t

h = h * w.sum()
h.copy_(h.detach().tanh())

h = h * w.sum()
d = h.detach()
d.add_(1)
h = h + d * w.mean()

h = h * w.sum()
h[:2].copy_(h[2:] * w.mean())

h = h * w.sum()
h.t().mul_(w[0, :4])

h = h * w.sum()
h.t_()
h.mul_(2)
h.t_()

h = h * w.sum()
s = h.sum()
h.detach_()
h = h + s

a, b, c = h.split(2, 1)
h = L.cat([c, a * b, a], 1)

values, at = h.topk(3, 1)
h = h * 1
h.scatter_(1, at, values * 2)

h = h * 1
a, b = h[:2], h[2:]
a.add_(b)
b.mul_(a)

h = h * 1
v = h.t()[1:4]
v[0] = 2.0
v.mul_(w[:3, :4])
h = h + v.sum()

h = h * 1
d = h.detach()
d.mul_(1.5)
d = d * w[0]
h = h + d

h = h * 1
h.unsqueeze_(0)
h.mul_(2)
h.squeeze_(0)

def again(v):
    return (v @ w).tanh()
with L.no_grad():
    s = again(h)
h = again(h) - s

g = L.autograd.grad((w * w).sum(), w, create_graph=True)[0]
h = h @ g

if h.requires_grad:
    at = h0 if h0.requires_grad else h
    options = {'retain_graph': True, 'allow_unused': True}
    g = L.autograd.grad(h.sum(), at, **options)[0]
    h = h if g is None else h + g

with L.enable_grad():
    h = h + w.mean()

steps.add_(1)
h = h / steps

with L.autocast('cpu', dtype=L.bfloat16):
    h = net(h)
h = h.float()

with L.autocast('cpu', dtype=L.bfloat16):
    with L.autocast('cpu', enabled=False):
        h = h @ w
    h = outer(h)
h = h.float()
""")
LOSSES: Final = _lines("""
loss = F.cross_entropy(h[:, :5], target)
loss = F.mse_loss(h, x)
loss = F.cross_entropy(h, target, label_smoothing=0.1, ignore_index=2)
loss = (h * h).mean() + h.sum() * 0.1
loss = F.smooth_l1_loss(h, x.roll(1, 0))
loss = F.kl_div(h.log_softmax(1), x.softmax(1), reduction='batchmean')
loss = F.binary_cross_entropy_with_logits(h, x.sigmoid())
loss = F.nll_loss(h.log_softmax(1), target)
loss = h.norm()
loss = F.l1_loss(h, x, reduction='sum')
loss = h.max()
""")
PASSES: Final = _blocks("""
h = forward(x, target)
{loss}
loss.backward()

h = forward(x, target)
{loss}
loss.backward()

h = forward(x, target)
{loss}
(loss * 0.5).backward(retain_graph=True)
loss.backward()

for part in (x, x * 0.5):
    h = forward(part, target)
{inner}
    (loss / 2).backward()

x = x.clone().requires_grad_()
h = forward(x, target)
{loss}
(g,) = L.autograd.grad(loss, x, create_graph=True, allow_unused=True)
if g is not None:
    loss = loss + g.square().sum()
loss.backward()

h = forward(x, target)
{loss}
found = L.autograd.grad(loss, params, allow_unused=True)
for p, g in zip(params, found, strict=True):
    p.grad = g

x.requires_grad_()
x.grad = None
h = forward(x, target)
{loss}
loss.backward()
seen.append(x.grad)
""")
BEFORE: Final = _lines("""
optimizer.zero_grad()
optimizer.zero_grad()
optimizer.zero_grad(set_to_none=False)
pass
""") + _blocks("""
for p in params:
    p.grad = None

for p in params:
    if p.grad is not None:
        p.grad.zero_()
""")
AFTER: Final = _lines("""
L.nn.utils.clip_grad_norm_(params, 0.5)
L.nn.utils.clip_grad_value_(params, 0.1)
w.data = w.data * 0.9
seen.append(w.grad)
seen.append(w)
seen.append(w.detach())
seen.append([g.clone() for p in params if (g := p.grad) is not None])
average.grad = h.detach().repeat(2, 1)[:6]
source.manual_seed(5)
source.set_state(L.get_rng_state())
optimizer.step()
seen.append(outer(h).sum())
w.grad = average.clone()
average.copy_(w.detach())
x.add_(1)
h.sum().detach_()
net.load_state_dict({k: v * 0.9 for k, v in net.state_dict().items()})
outer.weight.data.copy_(w.data)
loss = loss.detach()
loss.detach_()
seen.append(rows * 2)
""") + _blocks("""
for p in params:
    if p.grad is not None:
        p.grad.mul_(0.5)

for p in params:
    if p.grad is not None:
        p.grad.add_(L.randn_like(p), alpha=0.01)

with L.no_grad():
    for p in params:
        p.mul_(0.99)

for p in params:
    p.data.clamp_(-2, 2)

with L.no_grad():
    average.mul_(0.9).add_(w, alpha=0.1)

with L.no_grad():
    w[0].mul_(0.5)
    w.view(36)[::5] = 0.25

with L.no_grad():
    w.copy_(w.t().contiguous())

optimizer.step()
schedule.step()

with L.no_grad():
    seen.append(net(x))

net.eval()
seen.append(forward(x, target))
net.train()

w.requires_grad_(False)
seen.append(forward(x, target))
w.requires_grad_()

with L.no_grad():
    L.nn.init.normal_(w, std=0.3)

with L.no_grad():
    L.mul(w, 0.9, out=average)

optimizer.zero_grad()
(outer(x) @ w).sum().backward()
""")
HOOKS: Final = _lines("""
w.register_hook(lambda g: g * 2)
w.register_hook(lambda g: g.clamp(-1, 1))
net.register_forward_hook(lambda m, i, o: o * 0.5)
net.register_forward_pre_hook(lambda m, i: (i[0] + 1,))
net.register_full_backward_hook(lambda m, gi, go: (gi[0],))
w.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(0.5))
outer.weight = w
net[0].weight = outer.weight
net.to(L.float64).to(L.float32)
""") + _blocks("""
inner = L.optim.SGD([outer.weight], lr=0.1)
outer.weight.register_post_accumulate_grad_hook(lambda p: inner.step())
""")
OPTIMIZERS: Final = (
    "L.optim.SGD(params, lr=0.1)", "L.optim.SGD(params, lr=0.1, momentum=0.9)",
    "L.optim.SGD(params, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)",
    "L.optim.SGD(params, lr=L.tensor(0.1), momentum=0.5, dampening=0.1)",
    "L.optim.AdamW(params, lr=0.05)", "L.optim.Adam(params, lr=0.05, amsgrad=True)",
    "L.optim.Adam(params, lr=0.05, weight_decay=0.1, maximize=True)",
    "L.optim.AdamW([{'params': params[:1], 'lr': 0.1}, {'params': params[1:]}])",
)  # fmt: skip
