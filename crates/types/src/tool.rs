//! A tool as a model sees it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name: letters, digits, `_` and `-`.
    pub name: String,
    /// When and how to use it.
    pub description: String,
    /// The JSON schema of its arguments: an object.
    pub parameters: Value,
}
