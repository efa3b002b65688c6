//! What a server tells its operator about itself and its machine: what the doctor finds, and the settings.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// How to examine the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Examine {
    /// Do not ask providers whether their models exist.
    #[serde(default)]
    #[param(required = false)]
    pub offline: bool,
}

/// Something that the doctor looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Finding {
    /// What it is.
    pub what: String,
    /// Its state.
    pub state: FindingState,
    /// What was found, and what to do about it.
    pub text: String,
    /// Further details, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<String>,
}

/// The state of something that the doctor looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingState {
    /// As it should be.
    Good,
    /// It works without this, and could work better.
    Remark,
    /// It does not work until it is repaired.
    Broken,
}

/// The settings that a server started with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HeldSettings {
    /// The data directory.
    pub directory: String,
    /// The settings file, which need not exist; null if there is none.
    #[schema(required)]
    pub file: Option<String>,
    /// Variables of the environment that name no setting and have no effect, a sentence each.
    pub ignored: Vec<String>,
    /// The settings, in the order of their keys.
    pub data: Vec<Setting>,
}

/// A setting that holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Setting {
    /// Its key, such as `server.bind` or `tools.mcp[0].name`.
    pub key: String,
    /// Its value as TOML; null if it has none, and if it may be a secret.
    #[schema(required)]
    pub value: Option<String>,
    /// Whether its value may be a secret and is left out: keys, addresses, and what programs are started with.
    pub hidden: bool,
    /// What set it.
    pub set_by: SetBy,
    /// The path of the file, or the name of the variable or the option, that set it; null for a default.
    #[schema(required)]
    pub set_in: Option<String>,
}

/// What set a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SetBy {
    /// Nothing: its default holds.
    Default,
    /// The settings file.
    File,
    /// A variable of the environment.
    Variable,
    /// An option of the command line.
    Option,
}
