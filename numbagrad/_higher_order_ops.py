"""``torch._higher_order_ops``: operators that take functions; not there."""

from .absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "use Python, and numbagrad.compile",
    """BaseHOP InvokeQuant aoti_call_delegate associative_scan auto_functionalized
    auto_functionalized_v2 call_torchbind cond dynamo_bypassing_wrapper
    executorch_call_delegate flat_apply flex_attention flex_attention_backward foreach_map
    hints_wrapper inductor_compiled_code inline_asm_elementwise invoke_leaf_function
    invoke_quant invoke_quant_packed invoke_subgraph local_map_hop map out_dtype print
    register_hook run_const_graph scan strict_mode tag_activation_checkpoint while_loop
    while_loop_stack_output with_effects wrap_activation_checkpoint wrap_with_autocast
    wrap_with_set_grad_enabled""",
)
