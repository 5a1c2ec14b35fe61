"""What the model is trained for, on the items of one batch.

relevance   binary cross-entropy on every judged item
order       each relevant item against the irrelevant ones of its list
kind        no answer, span, yes, no
early       after half of the layers: relevance and order, and of reading rows whether they hold an answer
evidence    for each token, whether it belongs to what carries the answer
span        the likelihood of any occurrence of the answer, within the row and among all rows of its list
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional
from training.evaluator.model import LOWEST

SPAN = 1
WEIGHTS = {"relevance": 1.0, "order": 1.0, "kind": 0.7, "span": 0.5, "shared": 0.3, "evidence": 0.7, "early": 0.5}
EMPTY = 0.3  # what a row without evidence counts


@dataclass(frozen=True, slots=True)
class Outputs:
    """The heads' outputs by item. `correct` is the log of the summed exp(start + end) over the answer's occurrences."""

    early: Tensor
    relevance: Tensor
    kinds: Tensor
    correct: Tensor
    all_starts: Tensor
    all_ends: Tensor
    evidence: Tensor  # by token, as the next
    rows: Tensor


@dataclass(frozen=True, slots=True)
class Targets:
    relevant: Tensor
    kinds: Tensor
    lists: Tensor
    judged: Tensor
    weights: Tensor
    evidence: Tensor


def grouped_logsumexp(values: Tensor, groups: Tensor, count: int) -> Tensor:
    """logsumexp of the values of each group; very low for an empty one."""
    highest = torch.full((count,), LOWEST, device=values.device).scatter_reduce(0, groups, values.detach(), "amax")
    summed = torch.zeros(count, device=values.device).index_add(0, groups, (values - highest[groups]).exp())
    return highest + (summed + 1e-30).log()


def losses(outputs: Outputs, targets: Targets) -> dict[str, Tensor]:
    """Each loss as a mean over the items it concerns."""
    lists = int(targets.lists.max()) + 1
    judged = targets.judged * targets.weights
    entropy = functional.binary_cross_entropy_with_logits(outputs.relevance, targets.relevant, reduction="none")
    known = (targets.kinds >= 0).float() * targets.weights
    kind = functional.cross_entropy(outputs.kinds, targets.kinds.clamp(min=0), reduction="none")
    holds = torch.where(targets.judged > 0, targets.relevant, (targets.kinds > 0).float())
    told = torch.maximum(targets.judged, (targets.kinds >= 0).float()) * targets.weights
    soon = functional.binary_cross_entropy_with_logits(outputs.early, holds, reduction="none")
    read = ((targets.kinds == SPAN) & (outputs.correct > LOWEST / 2)).float() * targets.weights
    within = outputs.all_starts + outputs.all_ends - outputs.correct
    among = grouped_logsumexp(outputs.all_starts, targets.lists, lists) + grouped_logsumexp(
        outputs.all_ends, targets.lists, lists
    )
    return {
        "relevance": _mean(entropy, judged),
        "order": _mean(_order(outputs.relevance, targets, lists), judged * targets.relevant),
        "early": _mean(soon, told) + _mean(_order(outputs.early, targets, lists), judged * targets.relevant),
        "kind": _mean(kind, known),
        "span": _mean(within, read),
        "shared": _mean(among[targets.lists] - outputs.correct, read),
        "evidence": _evidence(outputs, targets),
    }


def _evidence(outputs: Outputs, targets: Targets) -> Tensor:
    """The mean of the rows' means."""
    known = (targets.evidence >= 0).float()
    wanted = targets.evidence.clamp(min=0).float()
    entropy = functional.binary_cross_entropy_with_logits(outputs.evidence, wanted, reduction="none") * known
    empty = torch.zeros_like(targets.weights)
    summed, tokens, positive = (empty.index_add(0, outputs.rows, part) for part in (entropy, known, wanted))
    weights = targets.weights * (tokens > 0) * torch.where(positive > 0, 1.0, EMPTY)
    return _mean(summed / tokens.clamp(min=1.0), weights)


def _order(relevance: Tensor, targets: Targets, lists: int) -> Tensor:
    """For every item, what it loses against the irrelevant items of its list."""
    rival = (targets.relevant == 0) & (targets.judged > 0)
    scores = torch.where(rival, relevance, torch.full_like(relevance, LOWEST))
    rivals = grouped_logsumexp(scores, targets.lists, lists)[targets.lists]
    return functional.softplus(rivals - relevance)


def _mean(values: Tensor, weights: Tensor) -> Tensor:
    return (values * weights).sum() / weights.sum().clamp(min=1.0)


def total(parts: dict[str, Tensor]) -> Tensor:
    return torch.stack([WEIGHTS[name] * value for name, value in parts.items()]).sum()
