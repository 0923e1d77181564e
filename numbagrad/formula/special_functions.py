"""Special functions as arithmetic in float64: Bessel and Airy functions, tails of the normal law.

`lowering.py` calls a function of `IN_FLOAT64` on symbolic values where a formula has its name.
Near zero a function is a Chebyshev series, far from zero a series in the inverse of the argument;
a formula computes both and chooses. Sections are those of the NIST Digital Library of Mathematical
Functions (DLMF). The series interpolate at Chebyshev's nodes, with values of 50 digits, and end
where what is left is below 2**-56 of the largest coefficient. Near their zeros oscillating
functions have the absolute error of their neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from . import expression as e
from .expression import Expression, where

#: exp(-x) I0(x) and exp(-x) I1(x) / x on [0, 8], by x.
_I0_LOW = (
    0.33839763720473803, -0.3046826723431984, 0.17162090152220877, -0.09490109704804764,
    0.04930528423967071, -0.02373741480589947, 0.010546460394594998, -0.004324309995050576,
    0.0016394756169413357, -0.0005763755745385824, 0.00018850288509584165, -5.754195010082104e-05,
    1.6448448070728896e-05, -4.4167383584587505e-06, 1.1173875391201037e-06, -2.670793853940612e-07,
    6.046995022541919e-08, -1.300025009986248e-08, 2.6598237246823866e-09, -5.189795601635263e-10,
    9.675809035373237e-11, -1.726826291441556e-11, 2.95505266312964e-12, -4.856446783111929e-13,
    7.676185498604936e-14, -1.1685332877993451e-14, 1.715391285555133e-15, -2.431279846547955e-16,
    3.3307945188222384e-17, -4.4153416464793395e-18,
)  # fmt: skip
_I1_LOW = (
    0.12629359322181682, -0.17641651835783406, 0.1026436586898471, -0.05294598120809499,
    0.024726449030626516, -0.010564084894626197, 0.004156422944312888, -0.0015135724506312532,
    0.0005122859561685758, -0.00016176081582589674, 4.781565107550054e-05, -1.3273163656039436e-05,
    3.4702513081376785e-06, -8.568720264695455e-07, 2.0032947535521353e-07, -4.445059128796328e-08,
    9.381537386495773e-09, -1.8872497517228294e-09, 3.625590281552117e-10, -6.663489723502027e-11,
    1.1736186298890901e-11, -1.9839743977649436e-12, 3.223793365945575e-13, -5.042185504727912e-14,
    7.600684294735408e-15, -1.1055969477353862e-15, 1.5536319577362005e-16, -2.111421214358166e-17,
    2.7779141127610464e-18,
)  # fmt: skip

#: sqrt(x) exp(-x) I(x) for x of 8 and more, by 8 / x in [0, 1].
_I0_HIGH = (
    0.4022452055070544, 0.0033691164782556943, 6.889758346916825e-05, 2.8913705208347567e-06,
    2.0489185894690638e-07, 2.266668990498178e-08, 3.3962320257083865e-09, 4.94060238822497e-10,
    1.1889147107846439e-11, -3.1499165279632416e-11, -1.3215811840447713e-11,
    -1.7941785315068062e-12, 7.180124451383666e-13, 3.8527783827421426e-13, 1.54008621752141e-14,
    -4.150569347287222e-14, -9.554846698828307e-15, 3.8116806693526224e-15, 1.7725601330565263e-15,
    -3.425485619677219e-16, -2.8276239805165836e-16, 3.461222867697461e-17, 4.46562142029676e-17,
    -4.830504485944182e-18, -7.233180487874754e-18,
)  # fmt: skip
_I1_HIGH = (
    0.38928811750914005, -0.009761097491361469, -0.00011058893876262371, -3.882564808877691e-06,
    -2.512236237870209e-07, -2.6314688468895196e-08, -3.835380385964237e-09, -5.589743462196584e-10,
    -1.8974958123505413e-11, 3.2526035830154884e-11, 1.4125807436613782e-11, 2.0356285441470896e-12,
    -7.198551776245908e-13, -4.0835511110921974e-13, -2.1015418427726643e-14, 4.272440016711951e-14,
    1.0420276984128802e-14, -3.8144030724370075e-15, -1.8803547755107825e-15,
    3.3082023109209285e-16, 2.96262899764595e-16, -3.209525921993424e-17, -4.6503053684893586e-17,
    4.414348323071708e-18, 7.517296310842105e-18,
)  # fmt: skip

#: The entire part of J0, and of J1 without a factor x, on [0, 8], by x * x (DLMF 10.2.2).
_J0 = (
    0.15772797147489012, -0.008723442352852221, 0.2651786132033368, -0.37009499387264977,
    0.15806710233209725, -0.034893769411408884, 0.004819180069467605, -0.00046062616620627504,
    3.246032882100508e-05, -1.7619469077621507e-06, 7.608163592418782e-08, -2.679253530557673e-09,
    7.848696314479465e-11, -1.9438346867370164e-12, 4.125320595634374e-14, -7.588508125447546e-16,
    1.2218515873961411e-17,
)  # fmt: skip
_J1 = (
    0.08104484632565812, -0.1489751450676521, 0.1609992623572097, -0.08268049176681791,
    0.022213639654966037, -0.003646940600769276, 0.0004050337728354822, -3.255554866857259e-05,
    1.9858774049915165e-06, -9.521984756750436e-08, 3.687133759097148e-09, -1.178026622695885e-10,
    3.160154580348003e-12, -7.221755239651773e-14, 1.4232144003513942e-15, -2.4441972916190464e-17,
)  # fmt: skip

#: The part of Y that multiplies neither a logarithm nor a pole (DLMF 10.8.1).
_Y0 = (
    0.06756030014487391, 0.864309105638858, -0.6239380029430822, -0.7359267062593379,
    0.5203607833217375, -0.14018219815800853, 0.02177841968603048, -0.0022591739526968005,
    0.0001694106343018303, -9.665088712739921e-06, 4.3497606338919047e-07, -1.5868355298816542e-08,
    4.793531619683858e-10, -1.2198387916867055e-11, 2.65240735243069e-13, -4.987226256814471e-15,
    8.192049110959308e-17,
)  # fmt: skip
_Y1 = (
    -0.02676470747779337, 0.08508117338983343, 0.26398680008644143, -0.24614314723858444,
    0.08384490424733872, -0.015773112560271325, 0.0019212784132007375, -0.00016542712525624453,
    1.0654754639582377e-05, -5.342291245496579e-07, 2.148354178949125e-08, -7.091813919033511e-10,
    1.9578150508891953e-11, -4.58984128352034e-13, 9.255592621272737e-15, -1.6230372827726666e-16,
)  # fmt: skip

#: P and x Q of Hankel's expansion (DLMF 10.17.3) for x of 8 and more, by (8 / x)**2 in [0, 1].
_P0 = (
    0.9994603493475187, -0.0005365220468132117, 3.0751847875194745e-06, -5.1705945376060975e-08,
    1.6306464635151382e-09, -7.86409137723707e-11, 5.168262387349193e-12, -4.3045788699253914e-13,
    4.3265957431549404e-14, -5.069034095935236e-15, 6.748072215733873e-16, -1.0011513723467786e-16,
    1.6305919233744186e-17,
)  # fmt: skip
_Q0 = (
    -0.12444683684269607, 0.0005470815954089319, -5.9315987288485175e-06, 1.4377965798375193e-07,
    -5.817532749493056e-09, 3.376097523734991e-10, -2.565397936797308e-11, 2.404916100281365e-12,
    -2.6690625482579414e-13, 3.4041800321963686e-14, -4.87994410531204e-15, 7.729703176242605e-16,
    -1.3348852171502517e-16, 2.4865952389390515e-17, -4.952892629886516e-18,
)  # fmt: skip
_P1 = (
    1.0009030408600137, 0.0008989898330859408, -3.987284300488908e-06, 6.177633960644299e-08,
    -1.8718907491063067e-09, 8.816898659582339e-11, -5.704863640395645e-12, 4.699195515230542e-13,
    -4.6842237839904895e-14, 5.452674896044717e-15, -7.221180842274018e-16, 1.0667689114335412e-16,
    -1.7312313216116335e-17,
)  # fmt: skip
_Q1 = (
    0.3742222965562826, -0.0007702178839325664, 7.3108922063643636e-06, -1.676782510726674e-07,
    6.583354662120443e-09, -3.749090950541556e-10, 2.8121750359748866e-11, -2.61145253946232e-12,
    2.8774212663332235e-13, -3.649001916061838e-14, 5.206626366226707e-15, -8.215318025458595e-16,
    1.4141084390211833e-16, -2.626761589838529e-17, 5.2192649196714085e-18,
)  # fmt: skip

#: The entire part of I and of K on [0, 2], by x * x (DLMF 10.25.2, 10.31.1).
_I0 = (
    1.6029228068079633, 0.638809625651177, 0.03685485969436176, 0.00098287812725148,
    1.4983654208927293e-05, 1.4738449008423848e-07, 1.0114797900674826e-09, 5.1149979020112795e-12,
    1.984280622680562e-14, 6.090516506058955e-17,
)  # fmt: skip
_I1 = (
    0.6417589969911874, 0.1475393201491934, 0.005898742680020788, 0.00011988137174638708,
    1.4739165119093128e-06, 1.2138074968740922e-08, 7.161106692799279e-11, 3.17487931131012e-13,
    1.0962998348773076e-15,
)  # fmt: skip
_K0 = (
    1.315136914201077, 1.4260416454807439, 0.11450627771739046, 0.0036638961263711248,
    6.302184191611028e-05, 6.771034886855241e-07, 4.976716713556947e-09, 2.6604304345226023e-11,
    1.0810348003525742e-13, 3.452039178689218e-16,
)  # fmt: skip
_K1 = (
    0.8690473826469431, 0.3886624055444757, 0.020083450261897926, 0.0004748506590451442,
    6.4806537604693795e-06, 5.771971207651228e-08, 3.623154857445656e-10, 1.6902305651272065e-12,
    6.092506124837857e-15, 1.748140848859418e-17,
)  # fmt: skip

#: sqrt(x) exp(x) K(x) for x of 2 and more, by 2 / x in [0, 1].
_K0_HIGH = (
    1.2201515410329777, -0.0314481013119645, 0.0015698838857300533, -0.00012849549581627802,
    1.39498137188765e-05, -1.8317555227191195e-06, 2.766813639445015e-07, -4.660489897687948e-08,
    8.574034017414225e-09, -1.6975345093890614e-09, 3.5773972814003283e-10, -7.957489244477396e-11,
    1.8559491149549264e-11, -4.514597883374519e-12, 1.1403405882073441e-12, -2.9800969231481784e-13,
    8.032890775068375e-14, -2.2275133267462965e-14, 6.340076476276646e-15, -1.848593377920907e-15,
    5.5120559994043335e-16, -1.6782311257549006e-16, 5.2103917776435543e-17,
    -1.6475805939842632e-17,
)  # fmt: skip
_K1_HIGH = (
    1.3603130952422213, 0.10392373657681724, -0.002857816859622779, 0.00019521551847135162,
    -1.936197974166083e-05, 2.406484947837217e-06, -3.5019606030878126e-07, 5.7410841254500495e-08,
    -1.0345762465678097e-08, 2.0150497551970347e-09, -4.1903547593419254e-10, 9.218315187605315e-11,
    -2.129967838427791e-11, 5.139639673482343e-12, -1.2891739609498229e-12, 3.348419666052243e-13,
    -8.976705182010146e-14, 2.4771544242195988e-14, -7.0198370892147685e-15, 2.038703166239861e-15,
    -6.057047270643018e-16, 1.8380935752430455e-16, -5.689462849193648e-17, 1.7940510478863572e-17,
)  # fmt: skip

#: Airy's function on [-9, 0] and on [0, 2]; sqrt(z) exp(z) K(z) of order 1/3 beyond, as above.
_AIRY_LEFT = (
    0.09109747098022686, 0.2675263647331797, 0.10201670578478512, 0.08250740730165251,
    -0.08870850841890504, -0.1341743240980937, -0.04615644422335286, -0.021895950166267258,
    0.21025277273556567, -0.05685638694307214, -0.12451885280745228, 0.07763676937234387,
    0.019451516657715613, -0.031420495664181584, 0.005313479329655824, 0.0055254190240198965,
    -0.002756965607372274, -0.00018010783609464666, 0.0004938494717517793, -0.00010854156619000822,
    -3.6933708150424124e-05, 2.269646367152489e-05, -1.4829851463011828e-06, -2.013306176897844e-06,
    6.184782997129319e-07, 4.133189776145942e-08, -6.210236998597572e-08, 1.0271263593916417e-08,
    2.513794817183328e-09, -1.2639517093918354e-09, 8.820585739752975e-11, 6.401549870639626e-11,
    -1.8055498590181627e-11, -2.6532825551394627e-13, 1.0633725983114439e-12,
    -1.8426346525510107e-13, -2.0880925810478442e-14, 1.2860266167797776e-14,
    -1.293084375549085e-15, -3.604108236280647e-16, 1.1877007722215648e-16, -4.8757277826982045e-18,
    -4.0348954922689234e-18,
)  # fmt: skip
_AIRY_RIGHT = (
    0.1661487551134717, -0.160200643749162, 0.02985086265042287, -3.592821006346677e-05,
    -0.0010148771856557245, 0.00018650430146538642, -9.023207531845663e-06, -1.8719071101908585e-06,
    3.7633084265224525e-07, -2.2543102304853237e-08, -1.521783492607275e-09, 3.7631432654361224e-10,
    -2.4444948546165672e-11, -5.979424144805241e-13, 2.2466976613000314e-13,
    -1.5345032770179278e-14, -7.025980667351147e-17, 8.902219306136638e-17, -6.348506763486825e-18,
)  # fmt: skip
_AIRY_DECAY = (
    1.2337690855010464, -0.018540006382902145, 0.0009183255104038856, -7.67774504624335e-05,
    8.566110075742357e-06, -1.1577150617012927e-06, 1.8000415235417777e-07, -3.119899224290337e-08,
    5.902850702255892e-09, -1.201159187548264e-09, 2.600107396839742e-10, -5.937284119679465e-11,
    1.4207694151666965e-11, -3.5440048864637663e-12, 9.175151964037486e-13, -2.456469879723901e-13,
    6.780575189504236e-14, -1.9246476942443285e-14, 5.605247441810085e-15, -1.6716822620725139e-15,
    5.096704769376992e-16, -1.5861733486505934e-16, 5.0322145975298485e-17, -1.6255449438587958e-17,
)  # fmt: skip

#: (1 + 2 x) erfcx(x) for positive x, by (x - 3.75) / (x + 3.75) in [-1, 1].
_ERFCX = (
    1.1775789345674017, -0.004590054580646478, -0.08424913336651792, 0.05920993999819189,
    -0.026658668435305753, 0.009074997670705265, -0.002413163540417608, 0.0004907758365258086,
    -6.916973302501207e-05, 4.13902798607301e-06, 7.74038306619849e-07, -2.1886401049234397e-07,
    1.076499946567091e-08, 4.521959811218287e-09, -7.754400208831351e-10, -6.318088340886684e-11,
    2.86879501093067e-11, 1.9455868545777347e-13, -9.65469674843344e-13, 3.25254814814874e-14,
    3.3478119482868056e-14, -1.864562880419313e-15, -1.2507950530688648e-15, 7.418235256624044e-17,
    5.068148904796111e-17,
)  # fmt: skip

#: M. J. Wichura, *Algorithm AS 241: the percentage points of the normal distribution* (1988):
#: numerators and denominators, lowest power first, in the middle, in a tail, and far in it.
_MIDDLE = (
    (3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
     45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727),
    (1.0, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077,
     21213.794301586595867, 39307.895800092710610, 28729.085735721942674, 5226.4952788528545610),
)  # fmt: skip
_TAIL = (
    (1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550,
     3.64784832476320460504, 1.27045825245236838258, 0.241780725177450611770,
     0.0227238449892691845833, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550,
     0.148103976427480074590, 0.0151986665636164571966, 5.47593808499534494600e-4,
     1.05075007164441684324e-9),
)  # fmt: skip
_FAR_TAIL = (
    (6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580,
     0.296560571828504891230, 0.0265321895265761230930, 1.24266094738807843860e-3,
     2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 0.599832206555887937690, 0.136929880922735805310, 0.0148753612908506148525,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15),
)  # fmt: skip

_EULER = 0.57721566490153286
_ROOT_2 = math.sqrt(2.0)


def _chebyshev(coefficients: Sequence[float], t: Expression) -> Expression:
    """The sum of ``coefficients[n] * T_n(t)``, by Clenshaw's recurrence."""
    here: Any = coefficients[-1]
    before: Any = 0.0
    for coefficient in reversed(coefficients[1:-1]):
        here, before = coefficient - before + 2 * t * here, here
    return coefficients[0] - before + t * here


def polynomial(x: Expression, coefficients: Sequence[float]) -> Expression:
    """The polynomial with the given coefficients, lowest power first."""
    result: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = result * x + coefficient
    return e.as_expression(result)


# --- modified Bessel functions --------------------------------------------------------------------


def _i0e(x: Expression) -> Expression:
    a = e.abs(x)
    far = _chebyshev(_I0_HIGH, 16 / a - 1) / e.sqrt(a)
    return where(a < 8, _chebyshev(_I0_LOW, a / 4 - 1), far)


def _i1e(x: Expression) -> Expression:
    a = e.abs(x)
    far = e.copysign(_chebyshev(_I1_HIGH, 16 / a - 1) / e.sqrt(a), x)
    return where(a < 8, x * _chebyshev(_I1_LOW, a / 4 - 1), far)


def _i0(x: Expression) -> Expression:
    a = e.abs(x)
    return where(a == math.inf, a, e.exp(a) * _i0e(x))


def _i1(x: Expression) -> Expression:
    a = e.abs(x)
    return where(a == math.inf, x, e.exp(a) * _i1e(x))


def _second_kind(order: int, scaled: bool) -> Callable[[Expression], Expression]:
    """K of an order, or ``exp(x) * K(x)`` (DLMF 10.31.1, and for larger x 10.32.9)."""
    entire, rest, high = ((_I0, _K0, _K0_HIGH), (_I1, _K1, _K1_HIGH))[order]

    def value(x: Expression) -> Expression:
        t = x * x / 2 - 1
        logarithm = e.log(x / 2) + _EULER
        difference = logarithm * _chebyshev(entire, t) - 0.5 * _chebyshev(rest, t)
        near = 1 / x + x * difference if order else -difference
        far = _chebyshev(high, 4 / x - 1) / e.sqrt(x)
        if scaled:
            near = near * e.exp(x)
        else:
            far = far * e.exp(-x)
        return _positive(x, where(x <= 2, near, far), math.inf)

    return value


def _positive(x: Expression, value: Expression, at_zero: float) -> Expression:
    """A value for positive x, an infinity for zero, NaN for negative numbers and NaN."""
    return where(x > 0, value, where(x == 0, at_zero, math.nan))


# --- Bessel functions -----------------------------------------------------------------------------


def _first_near(order: int, x: Expression) -> Expression:
    t = x * x / 32 - 1
    return x * _chebyshev(_J1, t) if order else _chebyshev(_J0, t)


def _far(order: int, second: bool, x: Expression) -> Expression:
    """J or Y for large x; the phase ``x - pi / 4`` is taken apart, so that x is not rounded."""
    inverse = 8 / x
    t = 2 * inverse * inverse - 1
    p = _chebyshev(_P1 if order else _P0, t)
    q = _chebyshev(_Q1 if order else _Q0, t) / x
    sine, cosine = e.sin(x), e.cos(x)
    # cos and sin of x - pi/4, times root two; a quarter turn further for order 1.
    c, s = cosine + sine, sine - cosine
    if order:
        c, s = s, -c
    value = (p * s + q * c if second else p * c - q * s) * math.sqrt(1 / math.pi) / e.sqrt(x)
    return where(x == math.inf, 0.0, value)


def _first_kind(order: int) -> Callable[[Expression], Expression]:
    def value(x: Expression) -> Expression:
        a = e.abs(x)
        far = _far(order, False, a)
        if order:
            far = where(x < 0, -far, far)
        return where(a < 8, _first_near(order, x), far)

    return value


def _weber(order: int) -> Callable[[Expression], Expression]:
    """Y of an order, DLMF 10.8.1: a logarithm times J, what is entire, and for order 1 a pole."""

    def value(x: Expression) -> Expression:
        t = x * x / 32 - 1
        logarithm = 2 * (e.log(x / 2) + _EULER)
        near = logarithm * _first_near(order, x)
        if order:
            near = near - x * _chebyshev(_Y1, t) - 2 / x
        else:
            near = near - _chebyshev(_Y0, t)
        near = near * (1 / math.pi)
        return _positive(x, where(x < 8, near, _far(order, True, x)), -math.inf)

    return value


def _spherical(x: Expression) -> Expression:
    return where(x == 0, 1.0, where(e.isinf(x), 0.0, e.sin(x) / x))


def _airy(x: Expression) -> Expression:
    """Airy's function: series about 0, DLMF 9.7.9 on the left, and 9.6.1 on the right."""
    middle = where(x < 0, _chebyshev(_AIRY_LEFT, x / 4.5 + 1), _chebyshev(_AIRY_RIGHT, x - 1))
    zeta = 2 / 3 * x * e.sqrt(x)
    least = 2 / 3 * 2 * _ROOT_2
    series = _chebyshev(_AIRY_DECAY, 2 * least / zeta - 1)
    right = e.sqrt(x / 3) * series * e.exp(-zeta) / (math.pi * e.sqrt(zeta))
    right = where(x > 200, 0.0, right)
    left = where(x == -math.inf, 0.0, _airy_left(-x))
    return where(x > 2, right, where(x < -9, left, middle))


def _airy_left(z: Expression) -> Expression:
    """Ai(-z) for z of 9 and more."""
    root = e.sqrt(z)
    zeta = 2 / 3 * z * root
    inverse = 1 / zeta
    terms = [1.0]
    for k in range(1, 24):
        terms.append(terms[-1] * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216 * k * (2 * k - 1)))
    signed = [term * (-1) ** (k // 2) for k, term in enumerate(terms)]
    square = inverse * inverse
    p = polynomial(square, signed[::2])
    q = polynomial(square, signed[1::2]) * inverse
    sine, cosine = e.sin(zeta), e.cos(zeta)
    value = (cosine + sine) * p + (sine - cosine) * q
    return value * math.sqrt(0.5 / math.pi) / e.sqrt(root)


# --- the normal distribution ----------------------------------------------------------------------


def _erfcx_of_positive(x: Expression) -> Expression:
    """J. L. Schonfelder, *Chebyshev expansions for the error and related functions* (1978)."""
    value = _chebyshev(_ERFCX, (x - 3.75) / (x + 3.75)) / (1 + 2 * x)
    return where(x == math.inf, 0.0, value)


def _exponential_of_square(x: Expression, factor: float) -> Expression:
    """``exp(factor * x * x)`` with what rounding takes from the square."""
    head = e.cast(e.cast(x, "float32"), "float64")
    return e.exp(factor * head * head) * e.exp(factor * (x - head) * (x + head))


def _erfcx(x: Expression) -> Expression:
    above = _erfcx_of_positive(e.abs(x))
    below = where(x < -26.7, math.inf, 2 * _exponential_of_square(x, 1.0) - above)
    return where(x < 0, below, above)


def _log_ndtr(x: Expression) -> Expression:
    """Below -1 by the scaled tail, above by what is left of one."""
    scaled = _erfcx_of_positive(e.abs(x) / _ROOT_2) / 2
    # Beyond 40 nothing is left of one.
    near = where(x < -1, -1.0, where(x > 40, 40.0, x))
    tail = where(x > 1, scaled * _exponential_of_square(near, -0.5), 0.5 * e.erfc(near / _ROOT_2))
    return where(x < -1, e.log(scaled) - x * x / 2, e.log1p(-tail))


def _quantile(q: Expression, tail: Expression) -> Expression:
    """The number below which a normal one is with probability ``0.5 + q``; of both the lesser tail.

    For a ``tail`` of zero the result is an infinity, for a negative one and for NaN it is NaN.
    """

    def ratio(parts: tuple[Sequence[float], ...], x: Expression) -> Expression:
        return polynomial(x, parts[0]) / polynomial(x, parts[1])

    middle = q * ratio(_MIDDLE, 0.180625 - q * q)
    r = e.sqrt(-e.log(tail))
    outer = where(r <= 5, ratio(_TAIL, r - 1.6), ratio(_FAR_TAIL, r - 5))
    outer = e.copysign(where(tail == 0, math.inf, outer), q)
    return where(tail >= 0.075, middle, where(tail >= 0, outer, math.nan))


def _ndtri(p: Expression) -> Expression:
    return _quantile(p - 0.5, where(p < 0.5, p, 1 - p))


def erfinv(y: Expression) -> Expression:
    """The inverse error function, a quantile of the normal distribution; in either dtype."""
    return _quantile(0.5 * y, 0.5 - 0.5 * e.abs(y)) * math.sqrt(0.5)


#: Functions of one argument that are computed in float64, whatever the dtype of a formula.
IN_FLOAT64: dict[str, Callable[[Expression], Expression]] = {
    "airy_ai": _airy,
    "bessel_j0": _first_kind(0),
    "bessel_j1": _first_kind(1),
    "bessel_y0": _weber(0),
    "bessel_y1": _weber(1),
    "erfcx": _erfcx,
    "i0": _i0,
    "i0e": _i0e,
    "i1": _i1,
    "i1e": _i1e,
    "k0": _second_kind(0, False),
    "k0e": _second_kind(0, True),
    "k1": _second_kind(1, False),
    "k1e": _second_kind(1, True),
    "log_ndtr": _log_ndtr,
    "ndtri": _ndtri,
    "spherical_j0": _spherical,
}
