//! Connects MCP servers while the engine works: a server that cannot be reached costs only its own tools, and
//! only until it can.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::{Builder, ConnectForOwner, Engine, ToolServer};
use entourage_tools::{McpSettings, Problem, Tool, connect_server};
use entourage_types::{Backoff, SecretName};
use secrecy::SecretString;
use tokio::task::JoinSet;

/// Between attempts to connect.
const PAUSES: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));

/// Returns the servers that can be connected, and why the others cannot.
pub(crate) fn named_once(servers: Vec<McpSettings>) -> (Vec<McpSettings>, Vec<Problem>) {
    let mut names = BTreeSet::new();
    let (first, again): (Vec<_>, Vec<_>) =
        servers.into_iter().partition(|server| names.insert(server.name.clone()));
    let taken = |server: McpSettings| Problem {
        server: server.name,
        message: "the name is taken by another server; give it its own".to_owned(),
    };
    (first, again.into_iter().map(taken).collect())
}

/// Gives the engine the catalogue of servers, and what connects those that need secrets of their owner.
pub(crate) fn with_servers(builder: Builder, servers: &[McpSettings]) -> Builder {
    let catalogue = servers.iter().map(|server| ToolServer {
        name: server.name.clone(),
        owners: server.owners.clone(),
        secrets: server.secrets().into_iter().collect(),
    });
    builder.tool_servers(catalogue.collect()).connect_for_owner(Arc::new(OfOwners(servers.to_vec())))
}

/// Connects servers with the secrets of an owner.
struct OfOwners(Vec<McpSettings>);

#[async_trait]
impl ConnectForOwner for OfOwners {
    async fn connect(
        &self,
        server: &str,
        secrets: &BTreeMap<SecretName, SecretString>,
    ) -> Result<Vec<Arc<dyn Tool>>, String> {
        let named = self.0.iter().find(|known| known.name == server);
        let settings = named.ok_or_else(|| format!("there is no MCP server `{server}`"))?;
        let connected = connect_server(settings.with_secrets(secrets)).await;
        let (tools, problems) = connected.map_err(|problem| problem.to_string())?;
        for problem in &problems {
            tracing::warn!("{problem}");
        }
        Ok(tools)
    }
}

/// Connects each shared server in a task of its own. Dropping the returned set ends the attempts.
pub(crate) fn connect(engine: &Engine, servers: Vec<McpSettings>) -> JoinSet<()> {
    let shared = servers.into_iter().filter(|server| server.secrets().is_empty());
    shared.map(|server| until_connected(engine.clone(), server)).collect()
}

/// Tries until the server is connected or the engine is stopping.
async fn until_connected(engine: Engine, settings: McpSettings) {
    let (name, mut failures, mut said) = (settings.name.clone(), 0, String::new());
    loop {
        // Created before the attempt, so that a request during the attempt leads to another one.
        let wanted = engine.server_wanted();
        let why = match connect_server(settings.clone()).await {
            Ok((tools, problems)) => {
                for problem in &problems {
                    tracing::warn!("{problem}");
                }
                for error in engine.server_brings(&name, tools) {
                    tracing::warn!(server = name, "{error}. This tool is left out");
                }
                if !said.is_empty() {
                    tracing::info!(server = name, "the MCP server is connected now");
                }
                return;
            }
            Err(problem) => problem.to_string(),
        };
        engine.server_is_away(&name, &why);
        if why != said {
            tracing::warn!("{why}; continuing without its tools until it is connected; retrying");
            said = why;
        }
        failures += 1;
        tokio::select! {
            () = tokio::time::sleep(PAUSES.after(failures)) => {}
            () = wanted => {}
            () = engine.stopping().cancelled() => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Instant};

    use entourage_engine::Kinds;
    use entourage_llm::ScriptedModel;
    use entourage_store::MemoryStore;
    use entourage_tools::McpTransport;

    use super::*;

    #[test]
    fn only_the_first_of_two_mcp_servers_with_one_name_is_connected() {
        let server = |name: &str, command: &str| {
            let (args, env) = (Vec::new(), BTreeMap::new());
            McpSettings::new(name, McpTransport::Command { command: command.into(), args, env, cwd: None })
        };
        let (first, taken) = named_once(vec![server("a", "one"), server("b", "one"), server("a", "two")]);
        let started = first.iter().map(|server| match &server.transport {
            McpTransport::Command { command, .. } => (server.name.as_str(), command.as_str()),
            McpTransport::Url { .. } => unreachable!("all are commands"),
        });
        assert_eq!(started.collect::<Vec<_>>(), [("a", "one"), ("b", "one")]);
        let [taken] = &taken[..] else { panic!("{taken:?}") };
        assert_eq!(taken.to_string(), "MCP server `a`: the name is taken by another server; give it its own");
    }

    /// Time does not advance: the pause before the next attempt would last for ever.
    #[tokio::test(start_paused = true)]
    async fn reloading_the_kinds_retries_an_unreachable_mcp_server_at_once() {
        const LATE: &str = r#"
            test -e "$0/ready" || { : > "$0/tried"; exit 1; }
            while read -r line; do
                id=${line#*\"id\":} id=${id%%,*}
                case $line in
                *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"late","version":"1"}}' ;;
                *'"tools/list"'*) result='{"tools":[]}' ;;
                *) continue ;;
                esac
                printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
            done
        "#;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let engine = Engine::builder(Arc::new(MemoryStore::default()), Arc::new(ScriptedModel::new([])))
            .kinds_from(Arc::new(|| Ok((Kinds::builtin(), Vec::new()))))
            .build();
        let args = vec!["-c".to_owned(), LATE.to_owned(), path.display().to_string()];
        let transport = McpTransport::Command { command: "sh".into(), args, env: BTreeMap::new(), cwd: None };
        let connected = tokio::spawn(until_connected(engine.clone(), McpSettings::new("late", transport)));
        let begun = Instant::now();
        let soon = async |is_so: &dyn Fn() -> bool| {
            while !is_so() {
                assert!(begun.elapsed() < Duration::from_secs(30), "it is not tried");
                // A task is always ready, so that the clock does not advance.
                tokio::task::yield_now().await;
            }
        };
        soon(&|| path.join("tried").exists()).await;
        fs::write(path.join("ready"), "").unwrap();
        engine.reload().await.unwrap();
        soon(&|| connected.is_finished()).await;
    }
}
