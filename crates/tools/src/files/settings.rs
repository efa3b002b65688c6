//! Which directory agents may read, and whose agents.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::Owners;

/// The one directory that agents may read: its path, or a table with `path` and what follows here.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(from = "Written")]
#[schemars(with = "Written")]
pub struct FilesSettings {
    /// The directory.
    pub path: PathBuf,
    /// Whether agents also read hidden files and those that usually hold keys or passwords.
    pub hidden: bool,
    /// Whose agents; everybody's where nobody has to say who they are, otherwise the operator's.
    pub owners: Option<Owners>,
    /// What is never read, wherever it lies: what the operator's own programs keep. Not in a file.
    pub never: Vec<PathBuf>,
}

impl FilesSettings {
    /// A directory with nothing else said.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), hidden: false, owners: None, never: Vec::new() }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a path, or a table with `path`, `hidden` and `owners`")]
enum Written {
    Path(PathBuf),
    Table(Table),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Table {
    /// The directory.
    path: PathBuf,
    /// Whether agents also read hidden files and those that usually hold keys or passwords.
    #[serde(default)]
    hidden: bool,
    /// Whose agents; everybody's where nobody has to say who they are, otherwise the operator's.
    owners: Option<Owners>,
}

impl From<Written> for FilesSettings {
    fn from(written: Written) -> Self {
        match written {
            Written::Path(path) => Self::new(path),
            Written::Table(Table { path, hidden, owners }) => {
                Self { path, hidden, owners, never: Vec::new() }
            }
        }
    }
}
