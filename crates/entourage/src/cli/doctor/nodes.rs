//! Checks what is between the processes that share a database: their clocks, their versions, and the ways to them.

use entourage::{Neighbours, Settings};

use super::{Finding, broken, good, remark};

/// How the processes that share the database are with each other; nothing if none can share it.
pub(super) async fn nodes(settings: &Settings) -> Vec<Finding> {
    if settings.store.url.is_none() {
        return Vec::new();
    }
    match entourage::neighbours(settings).await {
        Ok(Some(neighbours)) => findings(neighbours),
        // There are no tables yet.
        Ok(None) => Vec::new(),
        Err(error) => vec![broken("nodes", error.to_string())],
    }
}

fn findings(Neighbours { nodes, ahead }: Neighbours) -> Vec<Finding> {
    let offset = ahead as f64 / 1e6;
    let mut findings = vec![good("clock", format!("{offset:+.3} s from the database's"))];
    if !nodes.iter().any(|node| node.role.works() && !node.draining) {
        findings.push(remark("nodes", "no process works for agents: start one with `entourage serve`"));
    }
    // Those that come for one command are soon gone, as the doctor itself.
    for node in nodes
        .into_iter()
        .filter(|node| node.role.serves_all() || node.role.answers() && node.address.is_some())
    {
        let (id, role, version) = (node.id, node.role.name(), &node.version);
        let state = if node.draining { ", about to end" } else { "" };
        let text = format!("{id} ({role}{state}, version {version})");
        let own = env!("CARGO_PKG_VERSION");
        findings.push(match node.reached {
            Some(Err(why)) => broken(
                "node",
                format!(
                    "{text} cannot be reached at {}: {why}. Set `cluster.listen` there to an address that other machines \
                     reach, and `cluster.address` if that is behind another one",
                    node.address.unwrap_or_default()
                ),
            ),
            _ if node.version != own => remark("node", format!("{text} is of another version than {own}")),
            Some(Ok(())) => good("node", format!("{text} at {}", node.address.unwrap_or_default())),
            None => good("node", text),
        });
    }
    findings
}
