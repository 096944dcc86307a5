"""The mutants written by hand, a family or two a module."""

from typing import Final

from tests.meta.mutants.catalogue.brinks import BRINKS
from tests.meta.mutants.catalogue.capabilities import CAPABILITIES
from tests.meta.mutants.catalogue.devices import DEVICES
from tests.meta.mutants.catalogue.elementwise import ELEMENTWISE
from tests.meta.mutants.catalogue.errors import ERRORS
from tests.meta.mutants.catalogue.field_places import FIELD_PLACES
from tests.meta.mutants.catalogue.field_values import FIELD_VALUES
from tests.meta.mutants.catalogue.four_dims import FOUR_DIMS
from tests.meta.mutants.catalogue.gradients import GRADIENTS
from tests.meta.mutants.catalogue.handed_out import HANDED_OUT
from tests.meta.mutants.catalogue.history import HISTORY
from tests.meta.mutants.catalogue.large_calls import LARGE_CALLS
from tests.meta.mutants.catalogue.latent import LATENT
from tests.meta.mutants.catalogue.memory import MEMORY
from tests.meta.mutants.catalogue.moves import MOVES
from tests.meta.mutants.catalogue.nets import NETS
from tests.meta.mutants.catalogue.odd_calls import ODD_CALLS
from tests.meta.mutants.catalogue.pools import POOLS
from tests.meta.mutants.catalogue.randomness import RANDOMNESS
from tests.meta.mutants.catalogue.rare_places import RARE_PLACES
from tests.meta.mutants.catalogue.rare_values import RARE_VALUES
from tests.meta.mutants.catalogue.reach import REACH
from tests.meta.mutants.catalogue.reductions import REDUCTIONS
from tests.meta.mutants.catalogue.resources import RESOURCES
from tests.meta.mutants.catalogue.seldom_places import SELDOM_PLACES
from tests.meta.mutants.catalogue.seldom_values import SELDOM_VALUES
from tests.meta.mutants.catalogue.shipped_calls import SHIPPED_CALLS
from tests.meta.mutants.catalogue.shipped_places import SHIPPED_PLACES
from tests.meta.mutants.catalogue.shipped_products import SHIPPED_PRODUCTS
from tests.meta.mutants.catalogue.shipped_values import SHIPPED_VALUES
from tests.meta.mutants.catalogue.transfers import TRANSFERS
from tests.meta.mutants.catalogue.unmet import UNMET
from tests.meta.mutants.catalogue.unread import UNREAD
from tests.meta.mutants.catalogue.wild_places import WILD_PLACES
from tests.meta.mutants.catalogue.wild_values import WILD_VALUES
from tests.meta.mutants.mutant import Mutant

CATALOGUE: Final[tuple[Mutant, ...]] = (
    *ELEMENTWISE, *REDUCTIONS, *MOVES, *NETS, *MEMORY, *DEVICES, *RANDOMNESS,
    *GRADIENTS, *ERRORS, *RESOURCES, *CAPABILITIES, *HISTORY,
    *HANDED_OUT, *POOLS, *TRANSFERS,
    *SHIPPED_VALUES, *SHIPPED_PRODUCTS, *SHIPPED_PLACES, *SHIPPED_CALLS,
    *FIELD_VALUES, *FIELD_PLACES, *WILD_VALUES, *WILD_PLACES,
    *RARE_VALUES, *RARE_PLACES, *SELDOM_VALUES, *SELDOM_PLACES,
    *UNMET, *FOUR_DIMS, *LARGE_CALLS, *LATENT, *ODD_CALLS, *REACH, *BRINKS,
    *UNREAD,
)  # fmt: skip
