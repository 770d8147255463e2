"""Every experiment of the paper, and the page that shows them (extra `plots`)."""

from pfn.paper.catalogue import EXPERIMENTS, named
from pfn.paper.experiment import Check, Experiment, Setting
from pfn.paper.originals import DRAWINGS, NETWORKS
from pfn.paper.reports import Report
from pfn.paper.reproduce import reproduce

__all__ = ["DRAWINGS", "EXPERIMENTS", "NETWORKS", "Check", "Experiment", "Report", "Setting", "named", "reproduce"]
