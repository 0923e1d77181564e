"""``torch.monitor``: counters and events; not there."""

from .absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "use logging",
    """Aggregation COUNT Event EventHandlerHandle MAX MEAN MIN STAT_EVENT SUM Stat
    TensorboardEventHandler VALUE data_value_t log_event register_event_handler
    unregister_event_handler""",
)
