//! Behaviour by name, across the house.
