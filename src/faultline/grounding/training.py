"""The Lightning module that trains the grounding model, and its learning curve."""

from __future__ import annotations

import csv
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import lightning
import numpy as np
import torch

from faultline.grounding import fake_quant
from faultline.grounding.batches import Batch
from faultline.inference.adapter import GroundingClassifier


def factor(step: int, points: Sequence[tuple[float, float]]) -> float:
    """Learning rate as a part of its peak: linear between the points of a schedule.

    Args:
        step: From 0.
        points: (step, part) in ascending order; beyond the ends the nearest part holds.
    """
    steps, parts = zip(*points, strict=True)
    return float(np.interp(step, steps, parts))


log = logging.getLogger(__name__)


class GroundingModule(lightning.LightningModule):
    """Cross-entropy over three classes; word embeddings stay as they are.

    Args:
        model: What is trained.
        trunk_rate: Peak learning rate of the trunk.
        head_rate: Peak learning rate of the head and of the segment embeddings.
        weight_decay: Of AdamW, on matrices.
        schedule: Points of :func:`factor`.
        label_smoothing: In [0, 1).
        int8_from: Step from which the linear layers round as an int8 copy will; None: never.
        int8_every: Then every how many steps they do: a rounded step takes twice as long.
        agreement: Weight of the divergence between the rounded and the exact prediction.
    """

    def __init__(
        self,
        model: GroundingClassifier,
        *,
        trunk_rate: float,
        head_rate: float,
        weight_decay: float,
        schedule: Sequence[tuple[float, float]],
        label_smoothing: float,
        int8_from: int | None = None,
        int8_every: int = 1,
        agreement: float = 0.0,
    ) -> None:
        super().__init__()
        self.model = model
        self.save_hyperparameters(ignore=["model"])
        for name, weight in model.named_parameters():
            weight.requires_grad = "word_embeddings" not in name
        self._layers = fake_quant.prepare(model) if int8_from is not None else []
        self._seen: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.curve: dict[str, float] = {}

    def training_step(self, batch: Batch, batch_idx: int) -> torch.Tensor:
        """Mean loss of a batch; from ``int8_from`` on that of the rounded model, which must also agree."""
        labels = batch.pop("labels")
        smoothing = float(self.hparams["label_smoothing"])
        start, every = self.hparams["int8_from"], int(self.hparams["int8_every"])
        if start is None or self.global_step < int(start) or self.global_step % every:
            logits = self.model(**batch).float()
            loss = torch.nn.functional.cross_entropy(logits, labels, label_smoothing=smoothing)
        else:
            with torch.no_grad():
                exact = self.model(**batch).float()
            with fake_quant.rounding(self._layers):
                logits = self.model(**batch).float()
            loss = torch.nn.functional.cross_entropy(logits, labels, label_smoothing=smoothing)
            loss = loss + float(self.hparams["agreement"]) * fake_quant.agreement_loss(logits, exact)
        self.log("train_loss", loss, prog_bar=True, batch_size=len(labels))
        return loss

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Collect logits."""
        labels = batch.pop("labels")
        self._seen.append((self.model(**batch).float().cpu(), labels.cpu()))

    def on_validation_epoch_end(self) -> None:
        """Loss, accuracy and AUC of entailment over all held-out pairs."""
        from torchmetrics.functional.classification import binary_auroc

        logits = torch.cat([part for part, _ in self._seen])
        labels = torch.cat([part for _, part in self._seen])
        self._seen.clear()
        self.curve = {
            "loss": float(torch.nn.functional.cross_entropy(logits, labels)),
            "accuracy": float((logits.argmax(1) == labels).double().mean()),
            "auc": float(binary_auroc(logits.softmax(1)[:, 0], (labels == 0).long())),
        }
        self.log_dict({f"held_out_{name}": value for name, value in self.curve.items()})

    def configure_optimizers(self) -> Any:
        """AdamW in four groups: trunk and head, matrices and vectors."""
        rates = {False: float(self.hparams["trunk_rate"]), True: float(self.hparams["head_rate"])}
        groups: dict[tuple[bool, bool], list[torch.nn.Parameter]] = {}
        for name, weight in self.model.named_parameters():
            if weight.requires_grad:
                fresh = not name.startswith("trunk.") or "token_type" in name
                groups.setdefault((fresh, weight.ndim > 1), []).append(weight)
        decay = float(self.hparams["weight_decay"])
        made = [
            {"params": weights, "lr": rates[fresh], "weight_decay": decay if matrix else 0.0}
            for (fresh, matrix), weights in groups.items()
        ]
        optimizer = torch.optim.AdamW(made)
        points = [(float(step), float(part)) for step, part in self.hparams["schedule"]]
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: factor(step, points))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


class Steps(lightning.Callback):
    """Tells a progress bar of optimiser steps, those before a resumed one included.

    Args:
        advance: Called with the number of steps just done.
    """

    def __init__(self, advance: Callable[[int], None]) -> None:
        self._advance, self._told = advance, 0

    def on_train_batch_end(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """The steps since the last call."""
        self._advance(trainer.global_step - self._told)
        self._told = trainer.global_step


class LearningCurve(lightning.Callback):
    """Appends the held-out metrics of every validation to a CSV, and logs the training loss.

    Args:
        path: The CSV.
        log_every: Steps between two lines of the log.
    """

    def __init__(self, path: Path, log_every: int = 50) -> None:
        self._path, self._every = path, log_every
        self._losses: list[float] = []

    def on_train_batch_end(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Mean loss since the last line."""
        self._losses.append(float(outputs["loss"]))
        if trainer.global_step % self._every == 0:
            log.info("step %d: loss %.4f", trainer.global_step, sum(self._losses) / len(self._losses))
            self._losses.clear()

    def on_validation_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """One row."""
        assert isinstance(pl_module, GroundingModule)
        new = not self._path.exists()
        with self._path.open("a", newline="", encoding="utf-8") as handle:
            writer = csv.writer(handle)
            if new:
                writer.writerow(["step", *pl_module.curve])
            log.info("step %d: held out %s", trainer.global_step, pl_module.curve)
            writer.writerow([trainer.global_step, *(f"{v:.4f}" for v in pl_module.curve.values())])
