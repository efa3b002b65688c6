//! Benchmarks as ratios to a floor, in one program.
