"""C text of single idioms: min/max, floor division, math calls, lane sums, conditional and non-temporal stores."""
