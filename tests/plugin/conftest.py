"""What the tests of the plugin share."""

# pytester forgets the modules that a run inside this process imported; numpy cannot be imported twice.
import scipy.stats  # noqa: F401
