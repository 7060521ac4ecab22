"""What a build did, for people and for programs: accounts, tables, explanations, comparisons of compilers."""
