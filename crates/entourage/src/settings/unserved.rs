//! What a build without the feature `server` reads of the settings of the HTTP API and of webhooks, so that
//! it works with a file that a server uses, too.

use schemars::JsonSchema;
use serde::Deserialize;

/// The HTTP API's settings: all that matters without it is who the operator is, since the operator's files
/// and MCP servers are not for the agents of other owners.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Server {
    /// Who may come in.
    pub auth: Auth,
}

/// Who may come in where a server works with the same settings.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// One owner alone, `local`.
    #[default]
    None,
    /// Several owners, by their tokens.
    Jwt(Jwt),
}

/// The tokens, as far as they say who the operator is.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct Jwt {
    /// The operator's name, beside `local`.
    pub operator: Option<String>,
}

/// A receiver of webhooks. A build without the feature refuses settings with one.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct Webhook {}
