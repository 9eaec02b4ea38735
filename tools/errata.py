"""Write the page of the papers' errata: python tools/errata.py > docs/errata.md."""

from jaxbandits.reproduction.ledger import errata
from jaxbandits.reproduction.papers import PAPERS

print(errata.markdown(PAPERS), end="")
