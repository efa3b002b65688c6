//! The catalogue of tool servers, and its switches: for all agents of the owner, and for one tree.

use entourage_store::{Commit, Error as StoreError, Expect, Versioned};
use entourage_types::{
    AgentId, RecordWrite, Secret, SecretName, Switch, SwitchScope, Switches, ToolSwitches, is_tool_of,
};

use super::{Client, switch_limit::check_room_for_switch};
use crate::{
    Error, Result,
    servers::{ConnectionState, OwnerServer, ToolServer, cannot_be_reached, not_set},
};

/// How many switches an owner or a tree may have.
const MOST: u32 = 1_000;
/// The maximum length of a tool's name, in bytes.
const LONGEST_TOOL: usize = 64;

/// A server of the catalogue, for all agents of an owner or for one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerRecord {
    /// Its name.
    pub name: String,
    /// Whether it is connected: at once for all owners, or for the owner when an agent is to use it.
    pub is_connected: bool,
    /// Why it is not connected, if that is known.
    pub problem: Option<String>,
    /// The secrets of the owner that it needs.
    pub secrets: Vec<SecretName>,
    /// Its own switch here; none if what is wider counts.
    pub switch: Option<Switch>,
    /// What counts in the next run.
    pub effective: Switch,
    /// Its tools, as far as they are known or have a switch.
    pub tools: Vec<ServerTool>,
}

/// A tool of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTool {
    /// Its name.
    pub name: String,
    /// Its own switch here; none if that of the server counts, or what is wider.
    pub switch: Option<Switch>,
    /// What counts in the next run.
    pub effective: Switch,
}

/// What a node knows of a server.
#[derive(Default)]
struct ServerState {
    is_connected: bool,
    /// Why it is not connected, if that is known.
    problem: Option<String>,
    /// Its tools, by name, as far as they are known.
    tools: Vec<String>,
}

impl Client {
    /// The servers that the owner's agents may use, each with its switches for all agents of the owner, or for the tree
    /// with this root.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the agent; [`Error::Invalid`] if it is not the root of its tree.
    pub async fn servers(&self, tree: Option<AgentId>) -> Result<Vec<ServerRecord>> {
        let (own, all) = self.switches(tree).await?;
        let mut servers = Vec::new();
        for server in self.engine.inner.servers.serving(&self.owner) {
            servers.push(self.server_record(server, &own, &all).await?);
        }
        Ok(servers)
    }

    /// Switches a server, or one of its tools by its name `server__tool`, on or off for all agents of the owner, or for the
    /// tree with this root; without a position, what is wider counts again. Runs that have begun keep what they have
    /// (S4-R075).
    ///
    /// # Errors
    /// [`Error::NotFound`] for the agent, or for a server or tool that the owner's agents cannot use;
    /// [`Error::Invalid`] if the agent is not the root of its tree; [`Error::LimitReached`].
    pub async fn switch(
        &self,
        tree: Option<AgentId>,
        name: &str,
        switch: Option<Switch>,
    ) -> Result<ServerRecord> {
        // What has a switch may lose it, also where there is no such tool any more.
        let server = self.server_of(name, switch.is_none())?;
        self.check_root(tree).await?;
        loop {
            let before = self.kept_switches(self.scope_of(tree)).await?;
            let now = self.engine.now();
            let (mut kept, version) = match before {
                Some(Versioned { record, version }) => (record, version),
                None => {
                    let (owner, switches) = (self.owner.clone(), Switches::default());
                    (ToolSwitches { owner, root: tree, switches, created: now, updated: now }, 0)
                }
            };
            if kept.switches.get(name) == switch {
                break;
            }
            check_room_for_switch(&server.name, name, &kept.switches, switch)?;
            kept.switches.set(name, switch);
            kept.updated = now;
            if kept.switches.len() > MOST as usize {
                let what = "switches for all agents, or for one tree,";
                return Err(Error::LimitReached { most: MOST, what, remedy: "reset some" });
            }
            let mut commit = Commit::new(now);
            commit.expect.extend(tree.map(Expect::Agent));
            commit.record(RecordWrite::of(&kept)?.at_version(version));
            match self.engine.commit(commit).await {
                Err(StoreError::OtherVersion { .. }) => {}
                Err(StoreError::NoAgent { agent }) => return Err(Error::not_found("agent", agent)),
                done => {
                    done?;
                    break;
                }
            }
        }
        let (own, all) = self.switches(tree).await?;
        self.server_record(server, &own, &all).await
    }

    /// The switches of this scope itself, and what counts in it.
    async fn switches(&self, tree: Option<AgentId>) -> Result<(Switches, Switches)> {
        self.check_root(tree).await?;
        let of = async |scope| {
            let found = self.kept_switches(scope).await?;
            Ok::<_, Error>(found.map(|found| found.record.switches).unwrap_or_default())
        };
        let own = of(self.scope_of(tree)).await?;
        let all = match tree {
            Some(_) => own.clone().over(of(self.scope_of(None)).await?),
            None => own.clone(),
        };
        Ok((own, all))
    }

    fn scope_of(&self, tree: Option<AgentId>) -> SwitchScope {
        tree.map_or_else(|| SwitchScope::Owner(self.owner.clone()), SwitchScope::Tree)
    }

    async fn kept_switches(&self, of: SwitchScope) -> Result<Option<Versioned<ToolSwitches>>> {
        Ok(self.engine.store().versioned(&self.scope, of).await?)
    }

    /// Refuses an agent that has the switches of another one.
    async fn check_root(&self, tree: Option<AgentId>) -> Result<()> {
        let Some(id) = tree else { return Ok(()) };
        let root = self.agent(id).await?.root;
        if root == id {
            return Ok(());
        }
        Err(Error::Invalid(format!(
            "agent {id} has the tools that are on for its tree; switch them for agent {root}, the root of the tree"
        )))
    }

    /// The server of this name, or of the tool of this name, which need not be known.
    fn server_of(&self, name: &str, is_any: bool) -> Result<&ToolServer> {
        let servers = &self.engine.inner.servers;
        let (mut named, not_found) = (servers.serving(&self.owner), || Error::not_found("MCP server", name));
        if let Some(server) = named.find(|server| server.name == name) {
            return Ok(server);
        }
        let server =
            servers.of_tool(name).filter(|server| server.serves(&self.owner)).ok_or_else(not_found)?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let may_be = name.len() <= LONGEST_TOOL && name.chars().all(is_plain);
        let ServerState { is_connected, tools, .. } = self.server_state(server);
        let is_known = is_any || !is_connected || tools.iter().any(|tool| tool == name);
        if may_be && is_known { Ok(server) } else { Err(Error::not_found("tool", name)) }
    }

    /// What this node knows of a server.
    fn server_state(&self, server: &ToolServer) -> ServerState {
        let servers = &self.engine.inner.servers;
        if !server.is_of_owners() {
            let names = self.engine.inner.toolsets.names();
            let is_of = |tool: &String| servers.of_tool(tool).is_some_and(|of| of.name == server.name);
            let tools = names.into_iter().filter(is_of).collect();
            let told = |why| if self.is_operator { why } else { cannot_be_reached(&server.name) };
            let is_connected = servers.is_connected(&server.name);
            let problem = servers.why_away(&server.name).map(told);
            return ServerState { is_connected, problem, tools };
        }
        match servers.connections().peek(&self.owner, &server.name) {
            Some(OwnerServer { state: ConnectionState::Connected(_), tools, .. }) => {
                let tools = tools.iter().map(|tool| tool.name().to_owned()).collect();
                ServerState { is_connected: true, tools, ..ServerState::default() }
            }
            Some(OwnerServer { state: ConnectionState::Away(told), .. }) => {
                let why = || servers.connections().why_away(&self.owner, &server.name);
                let problem = Some(self.is_operator.then(why).flatten().unwrap_or(told));
                ServerState { problem, ..ServerState::default() }
            }
            None => ServerState::default(),
        }
    }

    async fn server_record(
        &self,
        server: &ToolServer,
        own: &Switches,
        all: &Switches,
    ) -> Result<ServerRecord> {
        let ServerState { is_connected, mut problem, mut tools } = self.server_state(server);
        for name in &server.secrets {
            let id = Secret::id_of(&self.owner, name);
            if self.engine.store().record::<Secret>(&self.scope, id).await?.is_none() {
                problem = Some(not_set(&server.name, name));
            }
        }
        let switched = all.names().filter(|name| is_tool_of(&server.name, name)).map(str::to_owned);
        tools.extend(switched);
        tools.sort_unstable();
        tools.dedup();
        let effective = |tool: &str| if all.allow(tool) { Switch::On } else { Switch::Off };
        let tool = |name: String| ServerTool { switch: own.get(&name), effective: effective(&name), name };
        Ok(ServerRecord {
            name: server.name.clone(),
            is_connected,
            problem,
            secrets: server.secrets.clone(),
            switch: own.get(&server.name),
            effective: all.get(&server.name).unwrap_or(Switch::On),
            tools: tools.into_iter().map(tool).collect(),
        })
    }
}
