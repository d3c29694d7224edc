"""The same agent, sure of a falsehood: the graph is interrupted for a person, and resumed.

Run it: python docs/examples/langgraph_human.py (offline, no key; models from the package index).
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from store import QUESTION, Extractive, search

from faultline.charm.decide import CharmSettings
from faultline.charm.guard import GuardOptions
from faultline.charm.routing import RoutingSettings
from faultline.charm.trigger import TriggerSettings
from faultline.live.audit import AuditLog, verify
from faultline.live.human import Checkpoint
from faultline.live.langchain import CharmMiddleware
from faultline.live.watch import Watch
from faultline.reporting.console import Terminal

EDIT = "Mira Tolk, by three passages; one names Jonas Brekke."


def main() -> str:
    """The final answer after the person's edit."""
    settings = CharmSettings(
        trigger=TriggerSettings(theta=0.5, components=("sfv",), renormalise=True),
        routing=RoutingSettings(gate_on="confidence", gate=0.8),
    )
    log = AuditLog(Path(tempfile.mkdtemp()) / "audit.jsonl")
    watch = Watch("fail_closed", options=GuardOptions(settings, "others"), audit=log, timeout_s=60.0)
    # Re-retrieval is switched off, so that the falsehood reaches the answer.
    guard = CharmMiddleware(watch, policy={"CRR": "note"}, checkpoint=Checkpoint(limit_s=600))
    agent = create_agent(
        Extractive(probability=0.97), [search], middleware=[guard], checkpointer=InMemorySaver()
    )
    thread: Any = {"configurable": {"thread_id": "demo"}}
    out = agent.invoke({"messages": [{"role": "user", "content": QUESTION}]}, thread)
    terminal = Terminal()
    (held,) = out["__interrupt__"]
    evidence = held.value["verdict"]["evidence"]
    terminal.print(f"held:    {evidence['claim']}")
    terminal.print(f"against: {evidence['passage'][:90]}...")
    terminal.print(f"because: {'; '.join(held.value['verdict']['reasons'])}")
    out = agent.invoke(Command(resume={"decision": "edit", "text": EDIT}), thread)
    answer = str(out["messages"][-1].text)
    terminal.print(f"answer:  {answer}")
    terminal.print(f"audit log: {verify(log.path)}")
    return answer


if __name__ == "__main__":
    main()
