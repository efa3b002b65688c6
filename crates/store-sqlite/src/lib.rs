//! The embedded Store: SQLite in WAL mode with group commit.
