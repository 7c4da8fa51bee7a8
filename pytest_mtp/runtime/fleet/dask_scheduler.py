"""What is asked of a Dask cluster beyond running cells; each function is sent by reference and runs over there.

It sends back dictionaries of plain values, so that the machines of a fleet need not have the same Python.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed import Scheduler, Worker

_PATIENCE_S = 5.0


def told(keys: list[str], dask_scheduler: "Scheduler") -> dict[str, Any]:
    """Every worker, and on which of them each key is: ``None`` where none has it or ever will."""
    boxes = [
        {
            "address": worker.address,
            "name": str(worker.name),
            "cards": dict(worker.resources),
            "taken": dict(worker.used_resources),
            "threads": worker.nthreads,
            "last_seen": worker.last_seen,
        }
        for worker in dask_scheduler.workers.values()
    ]
    return {"boxes": boxes, "places": {key: _place(key, dask_scheduler) for key in keys}}


def claimed(run_name: str, client: str, dask_scheduler: "Scheduler") -> bool:
    """Make this client the one controller of a run; False while another one of it is connected."""
    # One step of the scheduler's loop, so that no two are told that they are the one.
    place = ["pytest-mtp-controller", run_name]
    holder = dask_scheduler.get_metadata(place, default=None)
    if holder != client and holder in dask_scheduler.clients:
        return False
    dask_scheduler.set_metadata(place, client)
    return True


def doors(dask_scheduler: "Scheduler") -> list[str]:
    """The addresses that the scheduler and its workers listen on."""
    workers = [worker.address for worker in dask_scheduler.workers.values()]
    return [str(one.contact_address) for one in dask_scheduler.listeners] + workers


async def evict(address: str, dask_scheduler: "Scheduler") -> None:
    """Take a worker that hangs out of the cluster; its nanny, where it has one, starts another in its place."""
    await dask_scheduler.restart_workers(
        [address], timeout=_PATIENCE_S, wait_for_workers=False, on_error="return", stimulus_id="pytest-mtp-evict"
    )


def end_cells(dask_worker: "Worker") -> None:
    """End the pytest of every cell that this worker runs; what they started ends with them."""
    import psutil

    cells = [one for one in psutil.Process().children() if any("--mtp-json=" in word for word in one.cmdline())]
    for one in cells:
        one.terminate()
    _, alive = psutil.wait_procs(cells, timeout=_PATIENCE_S)
    for one in alive:
        one.kill()


def _place(key: str, scheduler: "Scheduler") -> str | None:
    task = scheduler.tasks.get(key)
    if task is None:
        return None
    if task.processing_on is not None:
        return str(task.processing_on.address)
    holders = [one.address for one in task.who_has or ()]
    # What raised is nowhere, and its client hears so; what is pinned to a worker that is gone waits for ever.
    return holders[0] if holders else ("" if task.state == "erred" else None)
