//! How to reach an MCP server.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, time::Duration};

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::Deserialize;

use super::placeholders;
use crate::Owners;

/// One MCP server: `name`, and either `command` (with `args`, `env`, `cwd`) or `url` (with
/// `headers`).
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "Raw")]
#[schemars(with = "Raw")]
pub struct McpSettings {
    /// The prefix of its tools' names: letters, digits, `_` and `-`, at most 32, without `__`, and not `_` at its end.
    pub name: String,
    /// How to reach it.
    pub transport: McpTransport,
    /// How long connecting and listing its tools may take; `connect_seconds`, 30 by default.
    pub connect_timeout: Duration,
    /// The owners whose agents may use it; by default all without authentication, and the operator alone with
    /// it.
    pub owners: Option<Owners>,
    /// A command that runs a program as [`supervise`](crate::supervise) does; the program and its arguments
    /// are appended. Without it, only the server's own process group is ended.
    pub supervisor: Option<Vec<OsString>>,
    /// The secrets of an owner that stand in the transport: what the server repeats of them is struck out.
    pub(super) given: Vec<SecretString>,
}

/// How to reach a server.
#[derive(Debug, Clone)]
pub enum McpTransport {
    /// A program that the engine starts, over its standard input and output.
    Command {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its environment. In addition it inherits only PATH, HOME and LANG: the engine's keys are not for
        /// it.
        env: BTreeMap<String, SecretString>,
        /// Its working directory; the engine's if not given.
        cwd: Option<PathBuf>,
    },
    /// A service, over streamable HTTP.
    Url {
        /// Its endpoint.
        url: String,
        /// Headers for each request, such as `Authorization`.
        headers: BTreeMap<String, SecretString>,
    },
}

const CONNECT_SECONDS: u64 = 30;
const NAME_CHARS: usize = 32;
const MISPLACED: &str =
    "`${secret:NAME}` stands in values of `env` and `headers` alone: others can be seen by other programs";

impl McpSettings {
    /// Creates a server with the default time to connect.
    #[must_use]
    pub fn new(name: impl Into<String>, transport: McpTransport) -> Self {
        Self {
            name: name.into(),
            transport,
            connect_timeout: Duration::from_secs(CONNECT_SECONDS),
            owners: None,
            supervisor: None,
            given: Vec::new(),
        }
    }
}

/// The settings as written.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Raw {
    /// The prefix of its tools' names: letters, digits, `_` and `-`, at most 32, without `__`, and not `_` at its end.
    name: String,
    /// The program, which speaks MCP over its standard input and output.
    command: Option<String>,
    /// The program's arguments.
    #[serde(default)]
    args: Vec<String>,
    /// The program's environment. In addition it inherits only PATH, HOME and LANG. `${secret:NAME}` stands for a secret
    /// of the owner whose agents use it: the program is started for each owner apart then.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    env: BTreeMap<String, SecretString>,
    /// The program's working directory; by default that of `entourage`.
    cwd: Option<PathBuf>,
    /// Instead of a program: the address of a service that speaks MCP over streamable HTTP.
    url: Option<String>,
    /// Headers for each request to the service, such as `Authorization`. `${secret:NAME}` stands for a secret of the owner
    /// whose agents use it: the service is connected for each owner apart then.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    headers: BTreeMap<String, SecretString>,
    /// How many seconds connecting and listing its tools may take; 30 by default.
    connect_seconds: Option<u64>,
    /// The owners whose agents may use it; by default all without authentication, and the operator alone with
    /// it. One all of whose values in `env` or `headers` have `${secret:NAME}`, and that has no credentials in `args` or
    /// `url`, is for all owners by default: each has to set the secret first.
    owners: Option<Owners>,
}

impl TryFrom<Raw> for McpSettings {
    type Error = String;

    fn try_from(raw: Raw) -> Result<Self, String> {
        let Raw { name, command, args, env, cwd, url, headers, connect_seconds, owners } = raw;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > NAME_CHARS || !name.chars().all(plain) {
            return Err(format!(
                "`{name}` cannot name an MCP server: use letters, digits, `_` and `-`, at most {NAME_CHARS}"
            ));
        }
        if name.contains("__") || name.ends_with('_') {
            return Err(format!(
                "`{name}` cannot name an MCP server: `__` ends the server's name in the names of its tools, so that the \
                 name has no `__` and does not end with `_`"
            ));
        }
        let for_command = !args.is_empty() || !env.is_empty() || cwd.is_some();
        let transport = match (command, url) {
            (Some(command), None) if headers.is_empty() => McpTransport::Command { command, args, env, cwd },
            (None, Some(url)) if !for_command => McpTransport::Url { url, headers },
            _ => {
                return Err(format!(
                    "the MCP server `{name}` needs either `command` (with `args`, `env`, `cwd`) or `url` \
                     (with `headers`)"
                ));
            }
        };
        let refused = |why| format!("the MCP server `{name}`: {why}");
        match &transport {
            McpTransport::Command { command, args, env, .. } => {
                let elsewhere = args.iter().chain([command]).any(|text| placeholders::has_any(text));
                (!elsewhere).then_some(env).ok_or(MISPLACED.to_owned())
            }
            McpTransport::Url { url, headers } => {
                (!placeholders::has_any(url)).then_some(headers).ok_or(MISPLACED.to_owned())
            }
        }
        .and_then(|values| placeholders::names(values.values()))
        .map_err(refused)?;
        let connect_timeout = Duration::from_secs(connect_seconds.unwrap_or(CONNECT_SECONDS));
        Ok(Self { name, transport, connect_timeout, owners, supervisor: None, given: Vec::new() })
    }
}
