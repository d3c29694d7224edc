"""Train, package and evaluate the embedded grounding model: ``python -m experiments.train_nli``."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hydra
from omegaconf import DictConfig, OmegaConf

from faultline.errors import ConfigError, FaultlineError
from faultline.reporting.console import Terminal

if TYPE_CHECKING:
    import lightning

    from faultline.grounding.collect import Collected

CONF = str(Path(__file__).resolve().parents[1] / "conf")
log = logging.getLogger(__name__)


def gather(config: DictConfig) -> Collected:
    """The pairs that the configuration asks for.

    Raises:
        ConfigError: No data folder is given.
    """
    from faultline.grounding.collect import collect

    settings: dict[str, Any] = OmegaConf.to_container(config.pairs, resolve=True)  # type: ignore[assignment]
    settings.pop("curve")
    return collect(_data(config), seed=int(config.seed), **settings)


def train(config: DictConfig) -> Path:
    """Train, or go on training from the run's last checkpoint, and return the last checkpoint."""
    import lightning
    import torch

    from faultline.grounding.training import GroundingModule
    from faultline.inference.adapter import base_folder, build

    run = Path(str(config.run_dir))
    run.mkdir(parents=True, exist_ok=True)
    lightning.seed_everything(int(config.seed))
    found = gather(config)
    (run / "pairs.json").write_text(json.dumps(dict(found.report), indent=1), encoding="utf-8")
    log.info("%d training and %d held-out pairs", len(found.train), len(found.held_out))
    model, tokenizer = build(base_folder())
    last = _last(config)
    resume = last.is_file()
    start = int(torch.load(last, map_location="cpu", weights_only=False)["global_step"]) if resume else 0
    optim = config.optim
    module = GroundingModule(
        model,
        trunk_rate=float(optim.trunk_rate),
        head_rate=float(optim.head_rate),
        weight_decay=float(optim.weight_decay),
        schedule=[(float(step), float(part)) for step, part in optim.schedule],
        label_smoothing=float(optim.label_smoothing),
        int8_from=None if optim.int8_from is None else int(optim.int8_from),
        agreement=float(optim.agreement),
        int8_every=int(optim.int8_every),
    )
    data = _data_module(config, found, tokenizer, start)
    with Terminal().progress("training steps", int(optim.max_steps)) as advance:
        trainer = _trainer(config, run, advance)
        trainer.fit(module, data, ckpt_path=str(last) if resume else None)
    trainer.save_checkpoint(last)
    return last


def package(config: DictConfig) -> None:
    """Write the shipped folder from the run's last checkpoint."""
    import torch

    from faultline.grounding.package import export

    state = torch.load(_last(config), map_location="cpu", weights_only=False)
    extra = {
        "trained_steps": int(state["global_step"]),
        "seed": int(config.seed),
        "optim": OmegaConf.to_container(config.optim, resolve=True),
        "pairs": OmegaConf.to_container(config.pairs, resolve=True),
    }
    rank = None if config.package.rank is None else int(config.package.rank)
    folder = Path(str(config.package.folder))
    export(_last(config), folder, rank=rank, max_tokens=int(config.model.max_tokens), extra=extra)


def evaluate(config: DictConfig) -> None:
    """Score every evaluation set with the shipped folder, write results.parquet, card and learning curve."""
    import torch

    from faultline import results
    from faultline.grounding import card, evaluate, quantised
    from faultline.grounding.pairs import shuffled
    from faultline.inference.checkpoints import load_classifier
    from faultline.inference.models import ModelSpec, resolve
    from faultline.inference.nli import NliScorer

    torch.set_num_threads(int(config.trainer.threads))
    run, settings = Path(str(config.run_dir)), config.evaluate
    folder = Path(str(config.package.folder))
    loaded = load_classifier(resolve(ModelSpec("grounding_minilm", path=str(folder))))
    scorer = NliScorer(loaded, precision=str(settings.precision), cache=run / "scores.sqlite")
    held_out = gather(config).held_out
    sets = evaluate.evaluation_sets(
        _data(config),
        held_out,
        seed=int(config.seed),
        limit=settings.limit,
        rounds=int(settings.rounds),
        passages=float(settings.passages),
    )
    found = []
    for scored in evaluate.score(sets, scorer):
        log.info("scored %s", scored.name)
        found += evaluate.rows(
            scored, loaded.name, note=f"precision={settings.precision}; limit={settings.limit}"
        )
    sample = shuffled(held_out, int(config.seed))[: int(settings.quantised)]
    found += quantised.rows(loaded, sample, float(settings.tau))
    table = results.frame(found)
    results.write(table, run / "results.parquet")
    card.write_card(table, folder)
    card.learning_curve(run / "learning_curve.csv", Path(str(settings.figure)))


def _trainer(config: DictConfig, run: Path, advance: Callable[[int], None]) -> lightning.Trainer:
    import lightning
    import torch
    from lightning.pytorch.callbacks import ModelCheckpoint

    from faultline.grounding.training import LearningCurve, Steps

    torch.set_num_threads(int(config.trainer.threads))
    saver = ModelCheckpoint(
        dirpath=_last(config).parent,
        filename="step",
        save_last=True,
        every_n_train_steps=int(config.trainer.checkpoint_every),
        enable_version_counter=False,
    )
    return lightning.Trainer(
        accelerator=str(config.trainer.accelerator),
        devices=config.trainer.devices,
        precision=config.trainer.precision,
        max_steps=int(config.optim.max_steps),
        gradient_clip_val=float(config.trainer.gradient_clip_val),
        val_check_interval=int(config.trainer.val_every),
        check_val_every_n_epoch=None,
        num_sanity_val_steps=0,
        logger=False,
        callbacks=[saver, LearningCurve(run / "learning_curve.csv"), Steps(advance)],
        default_root_dir=run,
        enable_progress_bar=False,
    )


def _data_module(
    config: DictConfig, found: Collected, tokenizer: Any, start: int
) -> lightning.LightningDataModule:
    from faultline.grounding.batches import PairsData
    from faultline.grounding.pairs import shuffled

    return PairsData(
        found.train,
        shuffled(found.held_out, int(config.seed))[: int(config.pairs.curve)],
        tokenizer,
        max_tokens=int(config.model.train_tokens),
        batch_tokens=int(config.optim.batch_tokens),
        batch_pairs=int(config.optim.batch_pairs),
        epochs=int(config.optim.epochs),
        seed=int(config.seed),
        start=start,
    )


def _last(config: DictConfig) -> Path:
    return Path(str(config.run_dir)) / "checkpoints" / "last.ckpt"


def _data(config: DictConfig) -> Path:
    if not config.data_dir:
        raise ConfigError("train_nli: no data; set FAULTLINE_DATA_DIR or data_dir=FOLDER")
    return Path(str(config.data_dir))


STEPS = {"train": train, "package": package, "evaluate": evaluate}


@hydra.main(config_path=CONF, config_name="train_nli", version_base="1.3")
def main(config: DictConfig) -> None:
    """Entry point: the steps that the configuration names, in order."""
    unknown = sorted(set(config.steps) - set(STEPS))
    try:
        if unknown:
            raise ConfigError(f"steps {unknown}: choose among {', '.join(STEPS)}")
        for step in config.steps:
            STEPS[step](config)
    except FaultlineError as error:
        log.error("%s", error)
        sys.exit(2)


if __name__ == "__main__":
    main()
