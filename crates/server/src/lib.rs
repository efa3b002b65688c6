//! The HTTP face of a house.
