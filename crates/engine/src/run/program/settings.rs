//! What the kind's file gives a program: prompts and bounds.

use entourage_types::Kind;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::run::{Interrupt, Result, Run};

/// Reads what a kind's file gives its program under `program_settings`.
///
/// # Errors
/// Says what is missing, unknown or of another type.
pub fn settings_of<T: DeserializeOwned>(kind: &Kind) -> std::result::Result<T, String> {
    let given = kind.program_settings.clone().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    serde_json::from_value(given)
        .map_err(|error| format!("`program_settings` of kind `{}`: {error}", kind.name))
}

impl Run<'_> {
    /// What the kind's file gives the program under `program_settings`: prompts and bounds. A program that
    /// [checks](crate::programs::Program::check) them refuses such a kind when it is loaded.
    ///
    /// # Errors
    /// If something is missing, unknown or of another type.
    pub fn settings<T: DeserializeOwned>(&self) -> Result<T> {
        settings_of(&self.kind).map_err(Interrupt::failed)
    }
}
