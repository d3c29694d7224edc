"""A data set of four fictional questions that can be checked by hand: three bridges and a comparison."""

from faultline.corpora.digest import corpus_digest
from faultline.records import Gold, Hop, LoadedCorpus, Passage, Task

TEXTS = {
    "harbour": (
        "The Glass Harbour",
        "The Glass Harbour is a novel by Ada Quill.",
        " It was printed in 1902.",
    ),
    "quill": (
        "Ada Quill",
        "Ada Quill was a writer of sea stories.",
        " She was born in Tarnwick, in the north.",
    ),
    "lantern": (
        "The Glass Lantern",
        "Per Holm staged The Glass Lantern once.",
        " Nobody came to see the play.",
    ),
    "b-quill": ("Bo Quill", "Bo Quill was a painter.", " He was born in Skarholt."),
    "ember": ("Salt and Ember", "Salt and Ember is a novel by Ivo Marsh.", " It was printed in 1877."),
    "marsh": ("Ivo Marsh", "Ivo Marsh was a sailor and a writer.", " He was born in Kelmouth, in the west."),
    "bell": ("The Ninth Bell", "The Ninth Bell is a novel by Lena Orrick.", " It was printed in 1921."),
    "orrick": ("Lena Orrick", "Lena Orrick was a poet.", " She was born in Dunvale, in the south."),
}
"""Title and sentences of each passage."""

PASSAGES = {name: Passage(name, title, tuple(rest)) for name, (title, *rest) in TEXTS.items()}


def hop(query, entity, passage_id, answer, kind, depends_on=()):
    """A hop whose span is the only place of the answer in the passage."""
    text = PASSAGES[passage_id].text
    assert text.count(answer) == 1
    start = text.index(answer)
    return Hop(query, entity, passage_id, answer, (start, start + len(answer)), kind, depends_on)


def _bridge(number, novel, author, person, town):
    title = PASSAGES[novel].title
    hops = (
        hop(f"Who wrote the novel {title}?", title, novel, person, "person"),
        hop("Where was #1 born?", "#1", author, town, "place", (1,)),
    )
    name = f"bridge-{number}"
    question = f"Where was the author of the novel {title} born?"
    return Task(name, question, name), Gold(name, (town,), hops, (novel, author), "bridge", 2)


def _comparison():
    hops = (
        hop("In which year was The Glass Harbour printed?", "The Glass Harbour", "harbour", "1902", "year"),
        hop("In which year was Salt and Ember printed?", "Salt and Ember", "ember", "1877", "year"),
    )
    question = "Which novel was printed earlier, The Glass Harbour or Salt and Ember?"
    gold = Gold("comparison-1", ("Salt and Ember",), hops, ("harbour", "ember"), "comparison", None)
    return Task("comparison-1", question, "comparison-1"), gold


def build():
    """The data set."""
    pairs = [
        _bridge(1, "harbour", "quill", "Ada Quill", "Tarnwick"),
        _bridge(2, "ember", "marsh", "Ivo Marsh", "Kelmouth"),
        _bridge(3, "bell", "orrick", "Lena Orrick", "Dunvale"),
        _comparison(),
    ]
    pools = {
        "bridge-1": ("harbour", "quill", "lantern", "b-quill"),
        "bridge-2": ("ember", "marsh", "lantern", "b-quill"),
        "bridge-3": ("bell", "orrick", "lantern", "b-quill"),
        "comparison-1": ("harbour", "ember", "lantern"),
        "all": tuple(sorted(PASSAGES)),
    }
    tasks = tuple(task for task, _ in pairs)
    gold = {record.task_id: record for _, record in pairs}
    digest = corpus_digest(tasks, gold, PASSAGES, pools)
    return LoadedCorpus("small", 1, tasks, gold, dict(PASSAGES), pools, digest)
