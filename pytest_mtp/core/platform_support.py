"""On which systems a measurement is possible at all."""

from pytest_mtp.core.build_spec import Backend

_ON_MACOS = (Backend.METAL, Backend.CPU)


def platform_sentence(system: str, backend: Backend) -> str | None:
    """Why nothing can be measured with this backend on this system (``platform.system()``); ``None`` where it can.

    On macOS Metal and the CPU are measured without telemetry, since no reading of its card is public.
    """
    if system == "Windows":
        return (
            "On Windows nothing can be measured: servers are started, held together and ended by means of POSIX "
            "systems. Run pytest inside WSL2, where the card can be used."
        )
    if system == "Darwin" and backend not in _ON_MACOS:
        return (
            f"On macOS there is no card for the backend {backend.value}: measure with --mtp-backend metal, or with "
            "--mtp, which computes on the CPU."
        )
    if system != "Darwin" and backend is Backend.METAL:
        return f"The backend metal needs macOS, this is {system}: choose another with --mtp-backend."
    return None
