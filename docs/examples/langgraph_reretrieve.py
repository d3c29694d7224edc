"""A LangGraph agent over a poisoned store: the false passage is flagged and the agent retrieves again.

Run it: python docs/examples/langgraph_reretrieve.py (offline, no key; models from the package index).
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from langchain.agents import create_agent
from store import QUESTION, Extractive, search

from faultline.charm.decide import CharmSettings
from faultline.charm.guard import GuardOptions
from faultline.charm.routing import RoutingSettings
from faultline.charm.trigger import TriggerSettings
from faultline.live.audit import AuditLog, verify
from faultline.live.langchain import CharmMiddleware
from faultline.live.watch import Watch
from faultline.reporting.console import Terminal


def main() -> str:
    """The final answer of the guarded agent."""
    # The fact verifier alone: what else was retrieved must support the first passage.
    settings = CharmSettings(
        trigger=TriggerSettings(theta=0.5, components=("sfv",), renormalise=True),
        routing=RoutingSettings(gate_on="off"),
    )
    log = AuditLog(Path(tempfile.mkdtemp()) / "audit.jsonl", texts=True)
    watch = Watch("fail_open", options=GuardOptions(settings, "others"), audit=log, timeout_s=60.0)
    terminal = Terminal()
    plain = create_agent(Extractive(), [search])
    terminal.print(f"unguarded: {_ask(plain)}")
    # The one line: middleware=[...].
    guarded = create_agent(Extractive(), [search], middleware=[CharmMiddleware(watch)])
    answer = _ask(guarded)
    terminal.print(f"guarded:   {answer}")
    terminal.print(f"audit log: {verify(log.path)}")
    return answer


def _ask(agent: object) -> str:
    out = agent.invoke({"messages": [{"role": "user", "content": QUESTION}]})  # type: ignore[attr-defined]
    return str(out["messages"][-1].text)


if __name__ == "__main__":
    main()
