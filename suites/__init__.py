"""The suites that ship: in a wheel they are `pytest_mtp.suites`, which `pytest --pyargs` takes by that name."""
