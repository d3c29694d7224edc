"""A seeded fictional world with multi-hop questions: no download, and no language model can know it."""

from faultline.corpora.synthetic.corpus import DEFAULT_QUESTIONS, Synthetic

__all__ = ["DEFAULT_QUESTIONS", "Synthetic"]
