"""The chat client of a run, from its configuration: model, cache, limits, budget, price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from experiments.composition import instantiate
from experiments.models import CACHE as SCORES
from faultline.chat.budget import CHARACTERS_A_TOKEN, Budget, Price, price_of
from faultline.chat.client import CachePolicy, ChatClient
from faultline.chat.reply_cache import FILE, ReplyCache
from faultline.chat.spec import CallSettings, ChatSpec
from faultline.records import Embedder


def uses_chat(cfg: DictConfig) -> bool:
    """Whether the policy is a language model."""
    return "chat" in cfg.policy


def price(cfg: DictConfig, spec: ChatSpec) -> Price | None:
    """The model's price in the dated table."""
    table: Any = OmegaConf.to_container(cfg.prices.models, resolve=True)
    return price_of(spec, table, str(cfg.prices.as_of))


def calls_of(cfg: DictConfig, spec: ChatSpec) -> CallSettings:
    """Limits; the local server has one slot, so that queued calls do not time out waiting for it."""
    plain: Any = OmegaConf.to_container(cfg.calls, resolve=True)
    settings = CallSettings(**plain)
    return replace(settings, concurrency=1) if spec.provider == "local" else settings


def client(cfg: DictConfig, spec: ChatSpec, digest: str, stores: Path) -> ChatClient:
    """A client over the reply cache that runs share.

    Args:
        cfg: The configuration.
        spec: The model.
        digest: sha256 of local weights.
        stores: Where the cache is.
    """
    from faultline.chat.backends import Backend, LangChainBackend
    from faultline.chat.local import start
    from faultline.chat.scripted import ScriptedBackend

    calls = calls_of(cfg, spec)
    budget = Budget(cfg.budget.usd, cfg.budget.calls, price(cfg, spec), spec.max_tokens)
    cached = CachePolicy(ReplyCache(stores / FILE, float(cfg.cache_max_mb)), str(cfg.cache))
    backend: Backend
    if spec.provider == "scripted":
        backend = ScriptedBackend()
    else:
        backend = LangChainBackend(spec, calls, start(spec) if spec.provider == "local" else "")
    return ChatClient(spec, backend, digest, calls, cached, budget)


def retrieval_embedder(cfg: DictConfig, stores: Path) -> Embedder | None:
    """The embedder that a retrieval configuration brings itself, None if it uses ``conf/embedder``."""
    if "embedder" not in cfg.retrieval:
        return None
    plain: Any = OmegaConf.to_container(cfg.calls, resolve=True)
    make = instantiate(cfg.retrieval.embedder, _partial_=True)
    made: Embedder = make(cache=stores / SCORES, calls=CallSettings(**plain))
    return made


def estimate(spec: ChatSpec, paid: Price | None, calls: int, characters: float) -> str:
    """One line: what a run would cost at most, before cached replies.

    Args:
        spec: The model.
        paid: Its price.
        calls: Calls of the run.
        characters: Of one prompt, on average.
    """
    sent = int(calls * characters / CHARACTERS_A_TOKEN)
    most = calls * spec.max_tokens
    tokens = f"{calls} calls to {spec.model}, about {sent:,} tokens in and at most {most:,} out"
    if paid is None:
        return f"pay: {tokens}; its price is not in conf/prices"
    low, high = sent * paid.input / 1e6, (sent * paid.input + most * paid.output) / 1e6
    return f"pay: {low:.2f} to {high:.2f} USD ({tokens}; prices of {paid.as_of}), less what is cached"


def judged_chars(spec: ChatSpec) -> int | None:
    """Characters that a model's context holds beside its reply; None where the context is not known."""
    if spec.num_ctx is None:
        return None
    return int((spec.num_ctx - spec.max_tokens) * CHARACTERS_A_TOKEN)


def spent(made: ChatClient | None) -> Mapping[str, float | int]:
    """What this process paid, for the manifest."""
    if made is None:
        return {"usd": 0.0, "calls": 0}
    return {"usd": round(made.budget.spent_usd, 6), "calls": made.budget.spent_calls}
