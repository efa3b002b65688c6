//! One MCP server: connected at its first use, and reconnected when the connection is lost.

use std::sync::Arc;

use entourage_types::{CallId, Owner};
use rmcp::{
    Peer, RoleClient,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, JsonObject, PaginatedRequestParams},
    service::ServiceError,
};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

use super::{
    Problem,
    connection::Connection,
    failure::{LostCall, loss, shortened, unanswered},
    schema::RepeatsSecret,
    secrets::Secrets,
    silence::{Calls, ConnectionState},
    tool::{McpTool, Naming},
};
use crate::{ArgumentValidator, Error, McpSettings, Result, Tool};

/// The maximum number of tools that a server may list: a model reads all that its agent is offered, with each call.
const MOST_TOOLS: usize = 256;
/// The maximum size of their names, descriptions and schemas together, in bytes as JSON.
const MOST_LISTED: usize = 512 * 1024;

/// The metadata field with a call's key, for servers that perform an action once per key.
const KEY: &str = "entourage/idempotency-key";

/// One MCP server. Dropping it ends its process, if it is a child process.
pub struct McpServer {
    settings: McpSettings,
    secrets: Secrets,
    state: Mutex<State>,
    calls: Calls,
}

/// Why there is no list of a server's tools.
enum Unlisted {
    Late,
    TooMany,
    TooLarge,
    Failed(ServiceError),
}

/// Lists all tools of a server, page by page, up to a limit: a server may return further pages forever.
async fn listed(peer: &Peer<RoleClient>) -> Result<Vec<rmcp::model::Tool>, Unlisted> {
    let (mut tools, mut bytes, mut pages, mut cursor) = (Vec::new(), 0_usize, 0, None);
    loop {
        let asked = PaginatedRequestParams::default().with_cursor(cursor);
        let page = peer.list_tools(Some(asked)).await.map_err(Unlisted::Failed)?;
        bytes =
            bytes.saturating_add(serde_json::to_vec(&page.tools).map_or(usize::MAX, |written| written.len()));
        pages += 1;
        tools.extend(page.tools);
        if pages > MOST_TOOLS || tools.len() > MOST_TOOLS {
            return Err(Unlisted::TooMany);
        }
        if bytes > MOST_LISTED {
            return Err(Unlisted::TooLarge);
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(tools);
        }
    }
}

#[derive(Default)]
struct State {
    connection: Option<Connection>,
    /// The number of the connection, so that a late failure of an old one does not close the new one.
    number: u64,
}

impl McpServer {
    /// Creates a server from its settings, without starting it.
    #[must_use]
    pub fn new(settings: McpSettings) -> Self {
        let secrets = Secrets::of(&settings);
        Self { settings, secrets, state: Mutex::default(), calls: Calls::default() }
    }

    /// Whether this owner's agents may use it.
    pub(super) fn serves(&self, owner: &Owner) -> bool {
        self.settings.owners.as_ref().is_none_or(|owners| owners.include(owner))
    }

    /// Returns the secrets in its settings.
    pub(super) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Returns its tools, and those that cannot be used. A tool's name is `<server>__<tool>`.
    ///
    /// # Errors
    /// [`Error::Failed`] when it cannot be reached or does not list its tools in time.
    pub async fn tools(self: &Arc<Self>) -> Result<(Vec<Arc<dyn Tool>>, Vec<Problem>)> {
        let (limit, began) = (self.settings.connect_timeout, Instant::now());
        let (peer, _) = self.peer().await?;
        // The time that is left after connecting.
        let left = limit.saturating_sub(began.elapsed());
        let listed = timeout(left, listed(&peer)).await.unwrap_or_else(|_| Err(Unlisted::Late));
        let listed = match listed {
            Ok(listed) => listed,
            Err(unlisted) => {
                let why = self.state.lock().await.connection.as_ref().and_then(Connection::trouble);
                return Err(self.failed(&match (why, unlisted) {
                    (Some(why), _) => format!("did not list its tools: {why}"),
                    (None, Unlisted::Late) => {
                        format!("did not connect and list its tools within {} s", limit.as_secs())
                    }
                    (None, Unlisted::TooMany) => format!(
                        "lists more than {MOST_TOOLS} tools, the most that one server may: have it offer fewer"
                    ),
                    (None, Unlisted::TooLarge) => format!(
                        "lists tools of more than {} KiB, the most that one server may: have it offer fewer, or describe \
                         them in fewer words",
                        MOST_LISTED / 1024
                    ),
                    (None, Unlisted::Failed(error)) => {
                        format!("did not list its tools: {}", unanswered(&error))
                    }
                }));
            }
        };
        let (mut tools, mut problems) = (Vec::new(), Vec::new());
        let mut naming = Naming::new(&self.settings.name);
        let secrets = self.secrets();
        if secrets.are_too_long() {
            let message = "its secrets are too long together to be found in what it says: give it shorter ones. Its tools are \
                           left out";
            problems.push(Problem { server: self.settings.name.clone(), message: message.to_owned() });
            return Ok((tools, problems));
        }
        for listed in listed {
            let made = if secrets.strike(&listed.name) == listed.name {
                let name = naming.name(&listed.name);
                let tool = McpTool::new(Arc::clone(self), name.clone(), listed, secrets);
                tool.map_err(|RepeatsSecret| {
                    format!("the form of the arguments of `{name}` repeats a secret")
                })
            } else {
                Err("the name of one of its tools repeats a secret".to_owned())
            };
            let checked = made.and_then(|tool| match ArgumentValidator::new(tool.spec()) {
                Ok(_) => Ok(tool),
                Err(error) => Err(error.to_string()),
            });
            match checked {
                Ok(tool) => tools.push(Arc::new(tool) as Arc<dyn Tool>),
                Err(why) => {
                    let message = format!("{why}. This tool is left out");
                    problems.push(Problem { server: self.settings.name.clone(), message });
                }
            }
        }
        Ok((tools, problems))
    }

    /// Closes the connection in an orderly way, and ends the process if it is a child process. The next call
    /// reconnects.
    pub async fn close(&self) {
        let connection = self.state.lock().await.connection.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    /// What an agent reads when the server cannot be reached: how it is reached is the operator's alone.
    fn away(&self, error: &Error) -> Error {
        tracing::warn!(server = self.settings.name, "{error}");
        Error::Failed(format!("the MCP server `{}` cannot be reached now", self.settings.name))
    }

    /// Calls a tool. If the connection turns out to be lost, repeats the call once on a new one, but only if
    /// the call is repeatable or the server never received it. Dropping the future tells the server to stop.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        key: CallId,
        repeatable: bool,
    ) -> Result<CallToolResult> {
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        params.meta.get_or_insert_default().insert(KEY.to_owned(), key.to_string().into());
        let mut again = false;
        loop {
            let (peer, number) = self.peer().await.map_err(|error| self.away(&error))?;
            let under_way = self.calls.begin(number);
            let answer = peer.call_tool_once(params.clone()).await;
            under_way.end();
            let error = match answer {
                Ok(CallToolResponse::Complete(result)) => return Ok(result),
                Ok(_) => {
                    let why = "it wants more than one exchange for this call, which is not supported";
                    return Err(self.without_answer(why, repeatable));
                }
                Err(ServiceError::McpError(error)) => {
                    return Err(Error::Failed(shortened(self.secrets().strike(&error.message))));
                }
                Err(error) => error,
            };
            let why = unanswered(&error);
            let loss = loss(&error);
            match loss {
                LostCall::Refused => return Err(self.failed(&format!("refused the call: {why}"))),
                LostCall::Unreadable => return Err(self.without_answer(&why, repeatable)),
                LostCall::Before | LostCall::During => {}
            }
            let trouble = self.discard(number).await;
            let because = trouble.map(|why| format!(" ({why})")).unwrap_or_default();
            if loss == LostCall::During && !repeatable {
                return Err(self.in_doubt(&format!("was lost during the call{because}")));
            }
            if again {
                return Err(self.failed(&format!("was lost twice: {why}{because}")));
            }
            again = true;
        }
    }

    /// Returns the connection's number and its peer; connects first if there is no connection.
    async fn peer(&self) -> Result<(Peer<RoleClient>, u64)> {
        let mut state = self.state.lock().await;
        if let Some(connection) = state.connection.take_if(|connection| connection.is_lost()) {
            tracing::debug!(server = self.settings.name, "lost; reconnecting");
            // Before the new server starts: remaining processes of the old one may hold resources that the
            // new one needs.
            drop(connection);
        }
        if let Some(connection) = &state.connection {
            let hangs = match self.calls.doubt(state.number, connection.heard()) {
                ConnectionState::None => false,
                ConnectionState::Ask => !connection.is_there().await,
                ConnectionState::Hangs => true,
            };
            if hangs {
                tracing::warn!(server = self.settings.name, "no longer answers; reconnecting");
                drop(state.connection.take());
            }
        }
        if state.connection.is_none() {
            state.connection = Some(Connection::open(&self.settings, &self.secrets).await?);
            state.number += 1;
        }
        let peer = state.connection.as_ref().map(Connection::peer);
        peer.map(|peer| (peer, state.number)).ok_or_else(|| self.failed("is not connected"))
    }

    /// Discards a lost connection. Returns what made it unusable, if that was data from the server.
    async fn discard(&self, number: u64) -> Option<&'static str> {
        let mut state = self.state.lock().await;
        let is_meant = state.number == number;
        let lost = state.connection.take_if(|_| is_meant)?;
        lost.trouble()
    }

    /// Returns the error for a call that the server received without returning a valid answer.
    fn without_answer(&self, why: &str, repeatable: bool) -> Error {
        let what = format!("gave no answer to the call: {why}");
        if repeatable { self.failed(&what) } else { self.in_doubt(&what) }
    }

    fn in_doubt(&self, what: &str) -> Error {
        let what = shortened(self.secrets().strike(what));
        Error::InDoubt(format!(
            "the MCP server `{}` {what}. Whether the call took effect is not known: check before you call again",
            self.settings.name
        ))
    }

    fn failed(&self, what: &str) -> Error {
        let what = shortened(self.secrets().strike(what));
        Error::Failed(format!("the MCP server `{}` {what}", self.settings.name))
    }
}
