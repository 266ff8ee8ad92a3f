"""A few runs that are killed, as `python -m tests.reliability.run_kills` kills hundreds."""

import pytest

from tests.conftest import SOAK
from tests.reliability.run_kills import OTHERS, PHASES, Sweep


@pytest.mark.sampled(4)
@pytest.mark.parametrize("point", [*PHASES, *OTHERS])
def test_a_kill_loses_no_event_and_leaves_nothing(point, tmp_path) -> None:
    sweep = Sweep(tmp_path, 20261120)
    for _ in range(20 if SOAK else 1):
        sweep.kill(point)
    sweep.close()
