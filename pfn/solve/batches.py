"""Learning batch by batch: its options."""

from dataclasses import dataclass

from pfn.errors import OptionError
from pfn.solve.checks import check_count, check_number


@dataclass(frozen=True)
class Batches:
    """How `learn` goes through many sequences, some at a time.

    - size: how many sequences are in memory and learned from together;
    - epochs: how often the data are gone through;
    - first: sweeps over the first batch of all, which is learned as if there were no other;
    - settle, sweeps: in every later batch, the hidden values alone are first updated `settle` times, from a start of
      their own, beside the parameters found so far; then both are, `sweeps` times;
    - memory: what earlier batches count for. Batch k has the share (k + offset)^−memory in the averages of numerators
      and denominators that parameters are made from: with 1 all batches count alike, with 0 only the last one does;
    - offset: with more, early batches have less of a share;
    - shuffle: go through the data in another order in every epoch, drawn from the seed. What can only be read from
      first to last is shuffled within a `pool` of so many batches, which are in memory together.

    >>> Batches(memory=1.0).share(3)
    0.25
    """

    size: int = 100
    epochs: int = 1
    first: int = 200
    settle: int = 20
    sweeps: int = 10
    memory: float = 0.7
    offset: float = 1.0
    shuffle: bool = True
    pool: int = 4

    def __post_init__(self) -> None:
        for option in ("size", "epochs", "first", "sweeps", "pool"):
            check_count(getattr(self, option), f"Batches: {option}", 1)
        check_count(self.settle, "Batches: settle", 0)
        check_number(self.memory, "Batches: memory", 0.0, 1.0)
        check_number(self.offset, "Batches: offset", 0.0, None)
        if not isinstance(self.shuffle, bool):
            raise OptionError(f"Batches: shuffle must be True or False, found {self.shuffle!r}.")

    def share(self, number: int) -> float:
        """The share of a batch in the averages, counted from 0; all of it where nothing came before."""
        return 1.0 if number == 0 else float(min(1.0, (number + self.offset) ** -self.memory))
