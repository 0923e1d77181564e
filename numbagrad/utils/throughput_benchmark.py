"""``torch.utils.throughput_benchmark``: calls from many threads, timed; not there."""

from ..absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "use utils.benchmark.Timer",
    """ExecutionStats ThroughputBenchmark format_time""",
)
