//! Which directory agents may read, and whose agents.

use std::{fmt, path::PathBuf};

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};

use crate::Owners;

/// The one directory that agents may read: its path, or a table with `path` and what follows here.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
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

/// How it is written, for its description.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "read by hand below")]
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

impl<'de> Deserialize<'de> for FilesSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PathOrTable)
    }
}

/// By hand, because an untagged enum holds its values before it reads them, and a variable of the
/// environment, which is text, could then be neither `true` nor `false`.
struct PathOrTable;

impl<'de> Visitor<'de> for PathOrTable {
    type Value = FilesSettings;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a path, or a table with `path`, `hidden` and `owners`")
    }

    fn visit_str<E: de::Error>(self, path: &str) -> Result<FilesSettings, E> {
        Ok(FilesSettings::new(path))
    }

    fn visit_map<M: MapAccess<'de>>(self, table: M) -> Result<FilesSettings, M::Error> {
        let Table { path, hidden, owners } = Table::deserialize(MapAccessDeserializer::new(table))?;
        Ok(FilesSettings { path, hidden, owners, never: Vec::new() })
    }
}
