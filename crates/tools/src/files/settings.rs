//! The directory that agents may read, and the owners of these agents.

use std::{fmt, path::PathBuf};

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};

use crate::Owners;

/// The one directory that agents may read: its path, or a table with `path` and the following settings.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "Written")]
pub struct FilesSettings {
    /// The directory.
    pub path: PathBuf,
    /// Whether agents also read hidden files and those that usually hold keys or passwords.
    pub hidden: bool,
    /// The owners whose agents may read it; by default all without authentication, and the operator alone
    /// with it.
    pub owners: Option<Owners>,
    /// Paths that are never read, wherever they are: the data of the operator's own programs. Not in a
    /// settings file.
    pub never: Vec<PathBuf>,
}

impl FilesSettings {
    /// Creates the settings of a directory with defaults.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), hidden: false, owners: None, never: Vec::new() }
    }
}

/// The written form, for the schema.
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
    /// The owners whose agents may read it; by default all without authentication, and the operator alone
    /// with it.
    owners: Option<Owners>,
}

impl<'de> Deserialize<'de> for FilesSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PathOrTable)
    }
}

/// Implemented by hand: an untagged enum buffers its values before it parses them, so a value from an
/// environment variable, which is text, could be neither `true` nor `false`.
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
