//! MCP servers of the catalogue, and their switches.

use entourage_types::{SecretName, Switch};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

/// An MCP server that the caller's agents may use, as it is switched for all of them, or for one tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// Whether it is connected. One that needs secrets of its user is connected when an agent is to use it.
    pub connected: bool,
    /// Why it could not be connected, if that is known.
    pub problem: Option<String>,
    /// The secrets that it needs of its user: `PUT /v1/secrets/{name}` sets one.
    #[schema(value_type = Vec<String>)]
    pub secrets: Vec<SecretName>,
    /// Its own switch, if it has one here. Else that for all agents counts, and without it the server is on.
    #[schema(value_type = Option<schema::Switch>)]
    pub switch: Option<Switch>,
    /// What counts in the next run.
    #[schema(value_type = schema::Switch)]
    pub effective: Switch,
    /// Its tools, as far as they are known.
    pub tools: Vec<McpTool>,
}

/// A tool of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct McpTool {
    /// Its name: `server__tool`.
    pub name: String,
    /// Its own switch, if it has one here. Else that of its server counts.
    #[schema(value_type = Option<schema::Switch>)]
    pub switch: Option<Switch>,
    /// What counts in the next run.
    #[schema(value_type = schema::Switch)]
    pub effective: Switch,
}

/// A switch to set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct SetSwitch {
    /// `on` or `off`.
    #[schema(value_type = schema::Switch)]
    pub switch: Switch,
}
