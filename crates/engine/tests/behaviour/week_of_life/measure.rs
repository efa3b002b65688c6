//! How large the database and the process are.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

/// What a database holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    /// All its pages, those in the log included.
    pub(super) bytes: i64,
    /// The bodies of the items of transcripts.
    pub(super) said: i64,
}

impl Size {
    /// Of the database at this path, which a store may have open.
    pub(super) fn of(path: &Path) -> Self {
        let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        let count = |query: &str| database.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap();
        Self {
            bytes: count("PRAGMA page_count") * count("PRAGMA page_size"),
            said: count("SELECT coalesce(sum(length(CAST(body AS BLOB))), 0) FROM items"),
        }
    }

    /// How many bytes of the database each byte of items took since then.
    pub(super) fn per_byte_since(self, before: Self) -> f64 {
        (self.bytes - before.bytes) as f64 / (self.said - before.said) as f64
    }
}

/// The memory of this process in bytes, where the system tells it.
pub(super) fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes << 10)
}
