"""Conversion of the references in docstrings to BibTeX.

A reference has one of three forms, and several references may follow each other:

    Given Family, Given Family. Title. Venue year, place in the paper.
    G. Family, G. Family, "Title", Venue year, place in the paper.
    Given Family, Given Family: Title. Venue year. Place in the paper.
"""

import re
from typing import NamedTuple

_NAME = r"(?:(?:[A-Z]\.(?:-[A-Z]\.)? |[A-Z][\w'-]+ |van |von |de )+[A-Z][\w'-]+|DeepMind)"
_REFERENCE = re.compile(
    rf"(?<![A-Za-z-])(?P<authors>{_NAME}(?:, {_NAME})*)"
    r"(?:, \"(?P<quoted>[^\"]+?),?\",? |(?<=[a-z])(?:\. |: )(?P<title>[^.\"]+?(?:\?|(?=\.)))\.? )"
)
_ARXIV = re.compile(r"\(?arXiv[: ](\d{4}\.\d{4,5})\)?")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_PLACE = re.compile(r"\. |[Aa]lgorithm|Theorem|Section|[Ee]quation|:")
_VOLUME = re.compile(r"^(?P<journal>.*?) (?P<volume>\d+)(?:\((?P<number>\d+)\))?$")
_AND = r"\ &\ (?:Van |van |von |de )?"  # a family name may have a particle, which `families` leaves out
_CONFERENCES = frozenset("AAAI AISTATS ALT COLT ICLR ICML NIPS NeurIPS WWW".split())  # noqa: SIM905
_SMALL = frozenset("a an and at by for from in of on the to with".split())  # noqa: SIM905


class Reference(NamedTuple):
    """Reference to a paper, as read from a docstring.

    Attributes:
      authors: full names, with the given name first.
      title: title of the paper.
      venue: conference, journal with volume, or publisher; "" for a preprint.
      year: year of publication, or of the preprint; "" if neither is known.
      arxiv: number of the preprint, or "".
      place: part of the paper that is used, such as "Algorithm 1, Theorem 1".
    """

    authors: tuple[str, ...]
    title: str
    venue: str
    year: str
    arxiv: str
    place: str

    @property
    def families(self) -> tuple[str, ...]:
        """Family names of the authors."""
        return tuple(name.split()[-1] for name in self.authors)

    @property
    def key(self) -> str:
        """Key of the entry: family name of the first author, year, and first word of the title.

        Articles, prepositions and conjunctions do not count as words.
        """
        words = (word for word in re.findall(r"[A-Za-z]+", self.title) if word.lower() not in _SMALL)
        return (self.families[0] + self.year + next(words, "")).lower()

    def entry(self) -> str:
        """Return the BibTeX entry."""
        fields = {"author": " and ".join(self.authors), "title": f"{{{self.title}}}"}
        kind, container = self._container()
        fields |= container | {"year": self.year}
        if self.arxiv:
            fields |= {"eprint": self.arxiv, "archiveprefix": "arXiv"}
        fields["note"] = self.place
        lines = [f"  {name} = {{{_escape(value)}}}," for name, value in fields.items() if value]
        return "\n".join([f"@{kind}{{{self.key},", *lines, "}"])

    def _container(self) -> tuple[str, dict[str, str]]:
        """Return the kind of the entry, and the fields that say where it was published."""
        if not self.venue:
            return "misc", {}
        if self.venue in _CONFERENCES:
            return "inproceedings", {"booktitle": self.venue}
        if "Press" in self.venue:
            return "book", {"publisher": self.venue}
        volume = _VOLUME.match(self.venue)
        if volume is None:
            return "article", {"journal": self.venue}
        return "article", {name: value for name, value in volume.groupdict().items() if value}


def references(text: str) -> list[Reference]:
    """Return the references in the text of a docstring, in the order of the text."""
    text = " ".join(text.split())
    found = list(_REFERENCE.finditer(text))
    ends = [*(following.start() for following in found), len(text)][1:]
    papers = [_reference(match, text[match.end() : end]) for match, end in zip(found, ends, strict=True)]
    return [paper for paper in papers if paper.year]


def _reference(match: re.Match[str], rest: str) -> Reference:
    """Read a reference from its authors, its title and the text after them."""
    arxiv = _ARXIV.search(rest)
    before, after = (rest[: arxiv.start()], rest[arxiv.end() :]) if arxiv else (rest, "")
    rest = _ARXIV.sub("", rest)
    year = _YEAR.search(rest)
    if year and _PLACE.search(rest[: year.start()]):
        year = None  # the year belongs to something else
    number = arxiv[1] if arxiv else ""
    if year:
        venue, place = rest[: year.start()], rest[year.end() :]
    elif arxiv:  # the number of a preprint begins with its year and month
        venue, place = before, after
    else:
        venue, place = rest, ""
    venue = venue.strip(" ,.;:")
    when = year[0] if year else (f"20{number[:2]}" if number else "")
    authors = tuple(match["authors"].split(", "))
    title = match["quoted"] or match["title"]
    return Reference(authors, title, venue, when, number, " ".join(place.strip(" ,.;:").split()))


def _escape(text: str) -> str:
    return re.sub(r"([&%$#_])", r"\\\1", text).replace("~", r"\textasciitilde{}").replace("^", r"\textasciicircum{}")


def of_source(source: str, known: list[Reference]) -> list[Reference]:
    """Return the papers that match a short source such as "Garivier & Cappe, COLT 2011, Figure 1".

    Args:
      source: family names, a venue and a year.
      known: papers to choose from; each is returned at most once.
    """
    found = {}
    for paper in known:
        *others, last = paper.families
        families = [*others, last]
        short = [f"{families[0]} et al."] if len(families) > 2 else []
        names = [*short, " & ".join(filter(None, (", ".join(others), last)))]
        is_there = paper.year in source or (paper.venue and paper.venue in source)
        patterns = (re.escape(name).replace(r"\ \&\ ", _AND).replace(r"\ &\ ", _AND) for name in names)
        if is_there and any(re.search(rf"(?<![,&] )(?<!\w){pattern}(?!\w)", source) for pattern in patterns):
            found.setdefault(paper.key, paper._replace(place=""))
    return list(found.values())
