"""What is known of a function's variables: scopes, aliasing, liveness, arrays that are dead on exit."""
