//! The part of the settings of the HTTP API and of webhooks that a build without the feature `server` reads,
//! so that it works with the settings file of a server.

use schemars::JsonSchema;
use serde::Deserialize;

/// The settings of the HTTP API. Without the API only the operator matters, since the operator's files and
/// MCP servers are not for the agents of other owners.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Server {
    /// How clients authenticate.
    pub auth: Auth,
}

/// How clients of a server with the same settings authenticate.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// One owner alone, `local`.
    #[default]
    None,
    /// Several owners, by their tokens.
    Jwt(Jwt),
}

/// The settings of tokens, as far as they name the operator.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct Jwt {
    /// The operator's name, beside `local`.
    pub operator: Option<String>,
}

/// A receiver of webhooks. A build without the feature refuses settings with one.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct Webhook {}
