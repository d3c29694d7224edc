"""Tasks of a small corpus, ready for a fault."""

from faultline.agents.five_stage import FiveStage
from faultline.faults.site import Site
from faultline.policies.reader import ReaderSettings
from faultline.records import State
from faultline.retrieval.bm25 import Bm25
from faultline.retrieval.environment import Environments

TOP_K = 5


def sites(corpus, pool="question", **policy):
    """Every task of a corpus."""
    environments, reader = Environments(corpus, Bm25(), pool), ReaderSettings(**policy).build(corpus)
    return [
        Site(
            task, environments.clean(task), FiveStage(), reader, TOP_K, reader.act("query", State(task)).text
        )
        for task in corpus.tasks
    ]


def site_of(corpus, task, **policy):
    """One task of a corpus."""
    return next(site for site in sites(corpus, **policy) if site.task == task)
