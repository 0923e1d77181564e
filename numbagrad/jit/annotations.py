"""``torch.jit.annotations``: types as torch's scripts know them; only those of Python."""

from typing import Any, List, Optional, Tuple  # noqa: UP035

from ..absent import absent

__all__ = ["Any", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "List",
           "Optional", "Tuple"]  # fmt: skip

BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = List  # noqa: UP006

for (
    _name
) in """AnyType ComplexType Dict DictType FloatType IntType ListType Module StringType TensorType
    TupleType ann_to_type check_fn get_param_names get_signature get_type_line is_dict is_list
    is_optional is_tuple is_union parse_type_line split_type_line try_ann_to_type
    try_real_annotations""".split():
    globals()[_name] = absent(f"torch.jit.annotations.{_name}", "there is no TorchScript")
