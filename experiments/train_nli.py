"""Train the embedded grounding model: ``python -m experiments.train_nli``."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hydra
from omegaconf import DictConfig, OmegaConf

from faultline.errors import ConfigError

if TYPE_CHECKING:
    from faultline.grounding.collect import Collected

CONF = str(Path(__file__).resolve().parents[1] / "conf")
log = logging.getLogger(__name__)


def gather(config: DictConfig) -> Collected:
    """The pairs that the configuration asks for.

    Raises:
        ConfigError: No data folder is given.
    """
    from faultline.grounding.collect import collect

    if not config.data_dir:
        raise ConfigError("train_nli: no data; set FAULTLINE_DATA_DIR or data_dir=FOLDER")
    settings: dict[str, Any] = OmegaConf.to_container(config.pairs, resolve=True)  # type: ignore[assignment]
    settings.pop("curve")
    return collect(Path(str(config.data_dir)), seed=int(config.seed), **settings)


def train(config: DictConfig) -> Path:
    """Train, or go on training, and return the last checkpoint."""
    import lightning as L
    import torch
    from lightning.pytorch.callbacks import ModelCheckpoint

    from faultline.grounding.batches import PairsData
    from faultline.grounding.pairs import shuffled
    from faultline.grounding.training import GroundingModule, LearningCurve
    from faultline.inference.adapter import base_folder, build

    run = Path(str(config.run_dir))
    run.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(int(config.trainer.threads))
    L.seed_everything(int(config.seed))
    found = gather(config)
    (run / "pairs.json").write_text(json.dumps(dict(found.report), indent=1), encoding="utf-8")
    log.info("%d training and %d held-out pairs", len(found.train), len(found.held_out))
    model, tokenizer = build(base_folder())
    last = run / "checkpoints" / "last.ckpt"
    resume = last.is_file()
    start = int(torch.load(last, map_location="cpu", weights_only=False)["global_step"]) if resume else 0
    optim = config.optim
    module = GroundingModule(
        model,
        trunk_rate=float(optim.trunk_rate),
        head_rate=float(optim.head_rate),
        weight_decay=float(optim.weight_decay),
        warmup=int(optim.warmup),
        decay=int(optim.decay),
        total=int(optim.max_steps),
        label_smoothing=float(optim.label_smoothing),
    )
    data = PairsData(
        found.train,
        shuffled(found.held_out, int(config.seed))[: int(config.pairs.curve)],
        tokenizer,
        max_tokens=int(config.model.train_tokens),
        batch_tokens=int(optim.batch_tokens),
        batch_pairs=int(optim.batch_pairs),
        epochs=int(optim.epochs),
        seed=int(config.seed),
        start=start,
    )
    saver = ModelCheckpoint(
        dirpath=last.parent,
        filename="step",
        save_last=True,
        save_top_k=1,
        every_n_train_steps=int(config.trainer.checkpoint_every),
        enable_version_counter=False,
    )
    trainer = L.Trainer(
        accelerator=str(config.trainer.accelerator),
        devices=config.trainer.devices,
        precision=config.trainer.precision,
        max_steps=int(optim.max_steps),
        gradient_clip_val=float(config.trainer.gradient_clip_val),
        val_check_interval=int(config.trainer.val_every),
        check_val_every_n_epoch=None,
        num_sanity_val_steps=0,
        log_every_n_steps=50,
        logger=False,
        callbacks=[saver, LearningCurve(run / "learning_curve.csv")],
        default_root_dir=run,
        enable_progress_bar=False,
    )
    trainer.fit(module, data, ckpt_path=str(last) if resume else None)
    trainer.save_checkpoint(last)
    return last


@hydra.main(config_path=CONF, config_name="train_nli", version_base="1.3")
def main(config: DictConfig) -> None:
    """Entry point."""
    train(config)


if __name__ == "__main__":
    main()
