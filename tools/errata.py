"""Write the page of the papers' errata: python tools/errata.py > docs/errata.md."""

from jaxbandits.experiments.papers import PAPERS
from jaxbandits.report import errata

print(errata.markdown(PAPERS), end="")
