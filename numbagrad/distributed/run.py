"""``python -m numbagrad.distributed.run``: a script in several processes, like ``torchrun``.

It finds ``mpiexec`` and hands the processes to it: beside the interpreter, where MPI from a wheel
has it, then in PATH. Every process gets RANK, LOCAL_RANK, WORLD_SIZE and the others of
``torchrun``, and its share of the cores of the machine. When one process fails, all end.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

__all__ = ["command", "find_mpiexec", "main", "parse"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m numbagrad.distributed.run", description=(__doc__ or "").partition("\n")[0]
    )
    add = parser.add_argument
    add("--nproc-per-node", "--nproc_per_node", default="1", metavar="N",
        help="processes on each machine; 'auto' or 'cpu' for one a core")  # fmt: skip
    add("--nnodes", default="1", metavar="N", help="machines; name them with --hosts or --hostfile")
    add("--hosts", metavar="A,B", help="names of the machines, separated by commas")
    add("--hostfile", metavar="FILE", help="a file of machines, in the format of mpiexec")
    add("-m", "--module", action="store_true", help="the script is the name of a module")
    add("--as-torch", action="store_true",
        help="run it under `python -m numbagrad`: `import torch` finds numbagrad")  # fmt: skip
    add("--mpiexec", metavar="PATH", help="the program that starts the processes")
    add("--standalone", action="store_true", help="one machine; as always without --nnodes")
    add("--max-restarts", "--max_restarts", type=int, default=0, metavar="N",
        help="only 0: a job that fails ends; start it again from its checkpoint")  # fmt: skip
    for name in ("node-rank", "master-addr", "master-port", "rdzv-backend", "rdzv-endpoint",
                 "rdzv-id", "rdzv-conf", "local-addr", "start-method"):  # fmt: skip
        add(f"--{name}", f"--{name.replace('-', '_')}", metavar="X",
            help="taken for torchrun's sake: processes find each other through MPI")  # fmt: skip
    add("script")
    add("arguments", nargs=argparse.REMAINDER, help="of the script")
    return parser


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command line; ``processes`` and ``machines`` are numbers.

    Exits, with a message, for options that mean nothing here.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    per_node = options.nproc_per_node
    if per_node in ("auto", "cpu"):
        from ..executor.threads.cpus import available_cpus

        per_node = available_cpus()
    elif per_node == "gpu":
        parser.error("--nproc-per-node gpu: processes compute on the CPU; give a number")
    machines = options.nnodes
    if ":" in machines and len(set(machines.split(":"))) == 1:
        machines = machines.partition(":")[0]
    if not (machines.isdecimal() and str(per_node).isdecimal()):
        parser.error("--nnodes and --nproc-per-node have to be numbers; jobs do not grow or shrink")
    options.machines, options.processes = int(machines), int(per_node)
    if options.machines < 1 or options.processes < 1:
        parser.error("--nnodes and --nproc-per-node have to be at least 1")
    if options.max_restarts:
        parser.error("--max-restarts: a job that fails ends; start it again from its checkpoint")
    if options.machines > 1 and not (options.hosts or options.hostfile):
        parser.error(
            "--nnodes: name the machines with --hosts or --hostfile, and start it once; or use "
            "what the cluster has (srun python script.py, mpiexec -n 8 python script.py)"
        )
    return options


def find_mpiexec(given: str | None = None) -> str:
    """The path of ``mpiexec``.

    Raises:
        FileNotFoundError: if there is none.
    """
    if given is not None:
        return given
    beside = os.path.join(os.path.dirname(sys.executable), "mpiexec")
    found = beside if os.access(beside, os.X_OK) else shutil.which("mpiexec")
    if found is None:
        raise FileNotFoundError(
            "there is no mpiexec: install MPI with `pip install 'numbagrad[mpi]'`, or give its "
            "path with --mpiexec"
        )
    return found


def _is_open_mpi(mpiexec: str) -> bool:
    found = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, check=False)
    text = found.stdout + found.stderr
    return "Open MPI" in text or "OpenRTE" in text or "PRRTE" in text or "prte" in text


def command(options: argparse.Namespace, mpiexec: str, open_mpi: bool) -> tuple[
    list[str], dict[str, str]
]:  # fmt: skip
    """The command line that starts the processes, and what is added to the environment."""
    count = options.processes * options.machines
    line = [mpiexec, "-n", str(count)]
    extra: dict[str, str] = {}
    if open_mpi:
        line += ["--map-by", f"ppr:{options.processes}:node:OVERSUBSCRIBE", "--bind-to", "none"]
        if options.hosts:
            hosts = [f"{name}:{options.processes}" for name in options.hosts.split(",")]
            line += ["--host", ",".join(hosts)]
        if options.hostfile:
            line += ["--hostfile", options.hostfile]
        if options.processes * 2 > (os.cpu_count() or 1):
            # Processes that wait would keep the cores from those that compute.
            extra["OMPI_MCA_mpi_yield_when_idle"] = "1"
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            extra["OMPI_ALLOW_RUN_AS_ROOT"] = extra["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    else:
        line += ["-ppn", str(options.processes)]
        if options.hosts:
            line += ["-hosts", options.hosts]
        if options.hostfile:
            line += ["-f", options.hostfile]
    line += [sys.executable, "-u", "-m", "numbagrad.distributed.worker"]
    if options.as_torch:
        line += ["-m", "numbagrad"]
    if options.module:
        line.append("-m")
    return [*line, options.script, *options.arguments], extra


def main(arguments: Sequence[str] | None = None) -> int:
    """Start the processes of a command line, and wait; returns the exit status of the job."""
    options = parse(sys.argv[1:] if arguments is None else arguments)
    try:
        mpiexec = find_mpiexec(options.mpiexec)
        line, extra = command(options, mpiexec, _is_open_mpi(mpiexec))
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    return subprocess.run(line, env={**os.environ, **extra}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
