from dovetail.data import *  # noqa: F403
