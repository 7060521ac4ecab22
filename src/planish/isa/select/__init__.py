"""How a nest over lanes is written in C: the learnt instructions whose definitions it equals, found by these alone."""
