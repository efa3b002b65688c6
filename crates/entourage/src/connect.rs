//! MCP servers, connected while the house is at work: one that cannot be reached costs only its own tools,
//! and only until it can.

use std::{collections::BTreeSet, time::Duration};

use entourage_engine::House;
use entourage_tools::{McpSettings, Problem, connect_server};
use tokio::task::JoinSet;

/// The pause after a first failure; it doubles from there.
const FIRST: Duration = Duration::from_secs(1);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(60);

/// The servers that can be connected, and why the others cannot.
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

/// Connects the servers, each by itself. Dropping what is returned ends the attempts.
pub(crate) fn connect(house: &House, servers: Vec<McpSettings>) -> JoinSet<()> {
    servers.into_iter().map(|server| until_connected(house.clone(), server)).collect()
}

/// Tries until the server is connected or the house is stopping.
async fn until_connected(house: House, settings: McpSettings) {
    let (name, mut pause, mut said) = (settings.name.clone(), FIRST, String::new());
    loop {
        // Begun before the attempt: whoever asks for one meanwhile gets another.
        let wanted = house.server_wanted();
        let why = match connect_server(settings.clone()).await {
            Ok((tools, problems)) => {
                for problem in &problems {
                    tracing::warn!("{problem}");
                }
                for error in house.server_brings(&name, tools) {
                    tracing::warn!(server = name, "{error}. This tool is left out");
                }
                if !said.is_empty() {
                    tracing::info!(server = name, "the MCP server is connected now");
                }
                return;
            }
            Err(problem) => problem.to_string(),
        };
        if why != said {
            tracing::warn!("{why}; going on without its tools until it is connected, which is tried again");
            said = why;
        }
        house.server_is_away(&name);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = wanted => {}
            () = house.stopping().cancelled() => return,
        }
        pause = (pause * 2).min(LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use entourage_tools::McpTransport;

    use super::*;

    #[test]
    fn of_two_servers_of_one_name_the_first_is_connected() {
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
}
