"""Bandits made of data: tables of rewards and of labels, logs, recorded traces."""

from jaxbandits.environments.data.logged_replay import LoggedReplay
from jaxbandits.environments.data.recorded_trace import RecordedTrace
from jaxbandits.environments.data.table_bandit import TableBandit
from jaxbandits.environments.datasets.labelled import load_labelled

__all__ = ["LoggedReplay", "RecordedTrace", "TableBandit", "load_labelled"]
