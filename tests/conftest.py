"""Settings of hypothesis for the whole suite: the same examples in every run, and no deadline, as machines differ."""

from hypothesis import settings

settings.register_profile("suite", derandomize=True, deadline=None)
settings.load_profile("suite")
