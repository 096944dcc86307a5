"""Floats of 8 bits beside torch: casts by their bits, what is given, what refused."""

from __future__ import annotations

import copy
import pickle
from typing import Any, Final

import numpy as np
import pytest

import dovetail as dt

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # torch's own

FORMATS: Final = (
    "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
    "float8_e8m0fnu",
)  # fmt: skip
# In L, the library: t [2, 3] of d, u its bits, o another format; i, g places, m a mask.
GIVEN: Final = """
t.reshape(3,2) ; t.view(-1) ; t.view(L.uint8) ; t.view(L.int8) ; u.view(d) ;
t.view(2,3).t() ; t.transpose(0,1).contiguous() ; t.permute(1,0) ; t[0] ; t[:,1:] ;
t[0,1].item() ; t[..., None] ; t[i] ; t[:, i] ; t[m] ; t.clone() ; t.detach() ;
t.contiguous() ; L.cat([t,t]) ; L.cat([t,t],1) ; L.stack([t,t]) ; L.hstack([t,t]) ;
t.expand(2,2,3) ; t.repeat(2,1) ; t.tile(2) ; t.flip(0) ; t.roll(1) ; t.roll(1,0) ;
t.unfold(1,2,1) ; t.diagonal() ; L.diag(t) ; L.diag_embed(t) ; t.unbind() ;
t.split(1) ; t.chunk(2) ; t.narrow(0,0,1) ; t.select(0,1) ; t.squeeze() ;
t.unsqueeze(0) ; t.flatten() ; t.ravel() ; t.movedim(0,1) ; t.swapaxes(0,1) ; t.T ;
t.mT ; t.index_select(0,i) ; t.masked_select(m) ; L.where(m,t,t) ; L.where(m,t,1.0) ;
L.nn.functional.pad(t,(1,1),value=2.0) ; L.nn.functional.embedding(i,t) ;
L.nn.functional.pad(t[None],(1,1),mode='circular') ;
L.nn.functional.pad(t[None],(1,-1),mode='circular') ;
L.zeros_like(t) ; L.ones_like(t) ; L.full_like(t,2.0) ; L.empty_like(t).shape ;
t.new_zeros(2) ; t.new_ones(2) ; t.new_full((2,),3.0) ; t.new_tensor([1.,2.]) ;
t.new_empty(2).shape ; L.zeros(2,dtype=d) ; L.ones(2,dtype=d) ;
L.full((2,),1.7,dtype=d) ; L.tensor([1.7,1e9,-3,float('nan'),float('inf')],dtype=d) ;
L.tensor(1.7,dtype=d) ; L.tensor([1,2,3],dtype=d) ; L.tensor([True,False],dtype=d) ;
L.as_tensor([1.,2.],dtype=d) ; L.scalar_tensor(1.5,dtype=d) ; L.eye(2,dtype=d) ;
t.copy_(L.ones(2,3)) ; L.ones(2,3).copy_(t) ; t.fill_(2.5) ; t.fill_(L.tensor(2.5)) ;
t.zero_() ; t.__setitem__(0,1.0) ; t.__setitem__((0,1),t[1,1]) ; t.set_(t) ;
t.resize_(3,2) ; t.as_strided((2,2),(1,1)) ; L.as_strided_copy(t,(2,2),(1,1)) ;
t.tolist() ; t[0,0].item() ; float(t[0,0]) ; int(t[0,0]) ; bool(t[0,0]) ;
complex(t[0,0]) ; list(t) ; len(t) ; str(t[0,0]) ; t.dtype.itemsize ;
t.element_size() ; t.nbytes ; t.is_floating_point() ; L.is_floating_point(t) ;
t.is_complex() ; t.is_signed() ; t.dtype.is_signed ; t.dtype.to_real() ; t.type() ;
t.type(L.float32) ; t.type_as(L.ones(1)) ; t.float() ; t.half() ; t.double() ;
t.bfloat16() ; t.int() ; t.long() ; t.bool() ; t.char() ; t.byte() ; t.cfloat() ;
t.requires_grad_().requires_grad ; t==t ; t!=t ; t==1 ; t!=1 ; L.eq(t,t) ;
L.ne(t,t) ; L.isnan(t) ; L.isreal(t) ; +t ; t.any() ; t.all() ; t.any(0) ; t.all(0) ;
L.promote_types(d,d) ; L.result_type(t,1) ; L.result_type(t,1.0) ;
L.result_type(t,True) ; L.result_type(t,t) ; L.can_cast(d,L.float32) ;
L.can_cast(L.float32,d) ; L.can_cast(L.int8,d) ; L.can_cast(d,L.int8) ;
L.can_cast(d,o) ; L.finfo(d).resolution ; L.finfo(d).tiny ; L.finfo(d).eps ;
L.finfo(d).bits ; L.finfo(d).max ; L.finfo(d).min ; t.data_ptr()!=0 ;
copy.deepcopy(t) ; copy.copy(d) is d ; repr(d) ; hash(d)==hash(d) ; t.to(o) ;
t.to(L.float32) ; t.to(d) is t ; t.to('cpu',L.float16) ; t.new_tensor(1e9) ;
L.broadcast_to(t,(2,2,3)) ; L.atleast_3d(t) ; L.block_diag(t,t) ;
L.meshgrid(t[0],t[1]) ; L.cartesian_prod(t[0],t[1]) ; L.combinations(t[0]) ;
t.repeat_interleave(2) ; L.real(t) ; L.conj(t) ; t.conj_physical() ;
L.dropout(t,0.5,False) ; L.nn.functional.dropout(t,0.5,False) ;
t.map_(t,lambda a,b:a) ; t.apply_(lambda a:a) ; L.select_scatter(t,t[0],0,0) ;
L.slice_scatter(t,t[:1],0,0,1) ; L.diagonal_scatter(t,t.diagonal()) ;
L.as_strided_scatter(t,t[0,:2],(2,),(1,)) ; t.unflatten(1,(3,1)) ;
t.fill_diagonal_(1.0) ; t.float().to(d) ; t.tensor_split(2) ;
L.dsplit(t.new_ones(2,2,2),2) ; L.column_stack([t,t]) ; L.dstack([t,t]) ;
L.concat([t,t]) ; t.expand_as(t.new_ones(2,3)) ; t.view_as(t) ; t.reshape_as(t) ;
L.positive(t) ; L.frombuffer(bytearray(b'abc'),dtype=d) ;
t[0,0].is_nonzero() ;
L.is_nonzero(t[0,0]) ; t.is_same_size(t) ; L.empty(2,dtype=d).shape ;
L.empty_strided((2,),(1,),dtype=d).shape ; L.Tensor.to(t,dtype=L.int8) ;
t.to(L.complex64) ; L.nn.Parameter(t) ; L.nn.Linear(2,2).to(d).weight.dtype ;
L.nn.Embedding.from_pretrained(t)(i) ; L.resolve_conj(t) ; L.resolve_neg(t) ;
format(t[0,0]) ; format(t[0,0],'.2f') ; t.shape ; t.stride() ; t.dim() ; hash(t)!=0 ;
t.grad ; t.is_contiguous() ; L.numel(t) ; L.is_tensor(t) ;
L.split_with_sizes(t,[1,1]) ; L.index_select(t,1,g[0]) ; t.__contains__(1.0) ;
1.0 in t ; t.bool().sum()
""".replace("\n", " ").split(" ; ")
REFUSED: Final = """
t.tril() ; t.triu() ; t.gather(1,g) ; L.take_along_dim(t,g,1) ;
t.masked_fill(m,1.0) ; t.masked_scatter(m,t) ; L.where(t) ; L.nonzero(t) ;
L.argwhere(t) ; t.scatter(1,g,t) ; t.scatter(1,g,1.0) ; t.scatter_add(1,g,t) ;
t.index_copy(0,i,t) ; t.index_add(0,i,t) ;
L.nn.functional.pad(t[None],(1,1),mode='reflect') ;
L.nn.functional.pad(t[None],(1,1),mode='replicate') ; L.nn.functional.one_hot(t) ;
L.rand_like(t) ; L.randn_like(t) ; L.arange(3,dtype=d) ; L.linspace(0,1,3,dtype=d) ;
L.randn(2,dtype=d) ; L.randint(0,3,(2,),dtype=d) ; L.hamming_window(3,dtype=d) ;
t.masked_fill_(m,2.0) ; t.__setitem__(m,1.0) ; t.uniform_() ; t.normal_() ;
t.random_() ; t.bernoulli_() ; t.exponential_() ; t.item() ; t.numpy() ;
t.dtype.to_complex() ; L.allclose(t,t) ; L.isclose(t,t) ; t<t ; t<=t ; t>1 ; t>=t ;
L.isneginf(t) ; L.isposinf(t) ; L.signbit(t) ; L.sign(t) ; -t ; t+t ; t+1 ; 1+t ;
t-t ; t*2 ; t/t ; t/2 ; t//2 ; t%2 ; t**2 ; L.matmul(t,t[0]) ; L.dot(t[0],t[1]) ;
L.bmm(t[None],t.t()[None]) ; t.sum() ; t.sum(0) ; t.mean() ; t.prod() ; t.max() ;
t.min() ; t.amax() ; t.amin() ; t.argmax() ; t.argmin() ; t.max(0) ; t.norm() ;
t.std() ; t.var() ; t.cumsum(0) ; t.cumprod(0) ; t.sort() ; t.argsort() ; t.topk(1) ;
t.median() ; t.mode() ; t.unique() ; t.count_nonzero() ; t.aminmax() ; t.clamp(0,1) ;
t.clamp(min=0) ; t.clip(0,1) ; L.maximum(t,t) ; L.minimum(t,t) ; L.relu(t) ;
L.exp(t) ; L.sqrt(t) ; L.sin(t) ; L.sigmoid(t) ; L.tanh(t) ; t.round() ; t.floor() ;
t.ceil() ; t.trunc() ; t.frac() ; t.reciprocal() ; t.square() ; L.logical_not(t) ;
L.logical_and(t,t) ; L.logical_or(t,t) ; L.logical_xor(t,t) ; L.copysign(t,t) ;
L.nextafter(t,t) ; L.nn.functional.gelu(t) ; L.nn.functional.layer_norm(t,(3,)) ;
L.nan_to_num(t) ; L.lerp(t,t,0.5) ; L.addcmul(t,t,t) ; t+L.ones(2,3) ;
L.ones(2,3)+t ; t*L.ones(2,3) ; L.cat([t,L.ones(2,3)]) ; L.stack([t,L.ones(2,3)]) ;
L.where(m,t,L.ones(2,3)) ; t==L.ones(2,3) ; L.equal(t,L.ones(2,3)) ;
L.promote_types(d,L.float32) ; L.promote_types(L.int8,d) ; L.promote_types(d,o) ;
L.promote_types(d,L.bool) ; L.promote_types(d,L.complex64) ; L.result_type(t,1j) ;
L.result_type(t,L.ones(1)) ; L.iinfo(d) ; L.einsum('ij,kj->ik',t,t) ;
L.bernoulli(t) ; L.multinomial(t,1) ; L.imag(t) ; L.view_as_complex(t[:,:2]) ;
L.complex(t,t) ; L.bincount(t[0]) ; L.histc(t) ; L.searchsorted(t[0],t[1]) ;
L.bucketize(t,t[0]) ; L.isin(t,t) ; t.lt(1) ; t.ge_(1) ; t.add_(1) ; t.mul_(2) ;
L.nn.functional.unfold(t.new_ones(1,1,3,3),2) ;
L.nn.functional.max_pool1d(t[None],2) ; L.nn.functional.avg_pool1d(t[None],2) ;
L.nn.functional.conv1d(t[None],t[None]) ; L.nn.functional.mse_loss(t,t) ;
L.nn.functional.cross_entropy(t,i) ; L.nn.functional.relu(t) ;
L.nn.functional.threshold(t,0,1) ; L.trace(t[:,:2]) ; L.cdist(t,t) ;
L.heaviside(t,t) ; t.cummax(0) ; t.logsumexp(0) ; t.nansum() ; t.nanmean() ;
L.randperm(3,dtype=d) ; L.vander(t[0]) ; t.is_nonzero() ; t.kthvalue(1) ;
L.msort(t) ; L.unique_consecutive(t) ;
L.nn.functional.grid_sample(t[None,None],t.new_ones(1,1,1,2)) ;
L.nn.Linear(2,2,dtype=d) ; L.rsub(t,1) ; L.cummax(t,0) ;
L.nn.functional.normalize(t) ; L.hypot(t,t) ; L.true_divide(t,t) ; L.fmod(t,2) ;
t.det() ; L.linalg.norm(t) ; L.fft.fft(t)
""".replace("\n", " ").split(" ; ")


def _answer(lib: Any, expression: str, name: str) -> Any:
    other = "float8_e4m3fn" if name == "float8_e5m2" else "float8_e5m2"
    bits = lib.tensor([[56, 60, 184], [8, 130, 64]], dtype=lib.uint8)
    x = bits.clone().view(getattr(lib, name))
    places = [[0, 2, 1], [1, 2, 0]] if "scatter" in expression else [[0, 2, 1], [1] * 3]
    names = {
        "L": lib, "d": getattr(lib, name), "o": getattr(lib, other), "u": bits, "t": x,
        "i": lib.tensor([1, 0]), "g": lib.tensor(places), "copy": copy,
        "m": lib.tensor([[True, False, True], [False, False, True]]), "pickle": pickle,
    }  # fmt: skip
    found = eval(expression.strip(), names)
    return _plain(lib, x if found is None else found)


def _plain(lib: Any, value: Any) -> Any:
    """What both libraries say in the same way: of tensors, dtype, shape and bits."""
    if isinstance(value, lib.Tensor):
        name = str(value.dtype).partition(".")[2]
        if value.layout is not lib.strided:
            return name
        bits = value.detach().contiguous()
        bits = bits.view(lib.uint8) if name in FORMATS else bits
        return name, tuple(value.shape), repr(bits.tolist())
    if type(value) in (list, tuple):
        return [_plain(lib, v) for v in value]
    return repr(value).replace("dovetail", "torch")


@pytest.mark.parametrize("expression", GIVEN)
def test_given(expression: str) -> None:
    """Dtypes, shapes and bits are torch's, in all formats."""
    for name in FORMATS:
        want = _answer(torch, expression, name)
        assert _answer(dt, expression, name) == want, name


@pytest.mark.parametrize("expression", REFUSED)
def test_refused(expression: str) -> None:
    """What torch refuses is refused, and caught by the same class."""
    for name in FORMATS:
        with pytest.raises(Exception) as theirs:  # noqa: PT011
            _answer(torch, expression, name)
        with pytest.raises(theirs.type):
            _answer(dt, expression, name)


def _bits(x: Any) -> Any:
    """The elements of a tensor of either library as unsigned integers."""
    lib: Any = dt if isinstance(x, dt.Tensor) else torch
    if x.is_complex():
        x = lib.view_as_real(x)
    if x.dtype is lib.bool:
        return x.numpy()
    return x.contiguous().view(getattr(lib, f"uint{8 * x.element_size()}")).numpy()


def _sources() -> dict[str, Any]:
    """Arrays whose every element is cast: all of 16 bits, and beside them."""
    short = np.arange(1 << 16, dtype=np.uint16)
    high = short.astype(np.uint32) << 16
    single = np.concatenate([high, high + 1, high - 1, high + 0x8000]).view(np.float32)
    number = np.nan_to_num(single)
    return {
        "float16": short, "bfloat16": short, "float32": single, "uint16": short,
        "float64": number.astype(np.float64) * (1 + 2.0**-40),
        "complex64": number.astype(np.complex64),
        "int64": np.r_[-70000:70000, 2**62, 2**53 + 1],
        "int32": np.arange(-600, 600, dtype=np.int32),
        "int8": np.arange(-128, 128, dtype=np.int8),
        "uint8": np.arange(256, dtype=np.uint8), "bool": np.array([True, False]),
    }  # fmt: skip


SOURCES: Final = _sources()


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("source", SOURCES)
def test_casts_into(source: str, target: str) -> None:
    """The same bits, of NaN too."""
    got = []
    for lib in (dt, torch):
        x: Any = lib.from_numpy(SOURCES[source].copy()).view(getattr(lib, source))
        got.append(_bits(x.to(getattr(lib, target))))
    assert np.array_equal(*got)


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", [*FORMATS, *SOURCES, "complex128"])
def test_casts_out_of(source: str, target: str) -> None:
    """The same bits; integers of NaN and infinities are what the machine gives."""
    got = []
    for lib in (dt, torch):
        x: Any = lib.from_numpy(np.arange(256, dtype=np.uint8))
        x = x.view(getattr(lib, source))
        number = torch.from_numpy(np.arange(256, dtype=np.uint8))
        wide = number.view(getattr(torch, source)).float().abs().numpy()
        keeps = wide < (128 if "int8" in target else 2.0**15)
        if "int" in target:
            x = lib.where(lib.from_numpy(keeps), x, lib.ones(256, dtype=x.dtype))
        got.append(_bits(x.to(getattr(lib, target))))
    assert np.array_equal(*got)
