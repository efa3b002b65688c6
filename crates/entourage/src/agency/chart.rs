//! The communication chart: who is in an agency, and who may write to whom.

use entourage_engine::agencies::{Chart, Flow};

use super::Agent;
use crate::{Error, Result};

/// Returns the agents of an agency in the order in which they were named, and their chart: the flows, and the
/// agents that each agent says it can message.
///
/// # Errors
/// [`Error::Agency`] for two agents of one name, and for every mistake in the chart.
pub(super) fn chart(
    entry: &[Agent],
    flows: &[(Agent, Agent)],
    others: &[Agent],
) -> Result<(Vec<Agent>, Chart)> {
    let mut agents: Vec<Agent> = Vec::new();
    for agent in entry.iter().chain(flows.iter().flat_map(|(from, to)| [from, to])).chain(others) {
        match agents.iter().find(|known| known.name() == agent.name()) {
            Some(known) if known.is(agent) => {}
            Some(_) => {
                let name = agent.name();
                return Err(Error::Agency(format!("there are two agents of the name `{name}`; rename one")));
            }
            None => agents.push(agent.clone()),
        }
    }
    let mut all: Vec<Flow> = flows.iter().map(|(from, to)| Flow::new(from.name(), to.name())).collect();
    for agent in &agents {
        for peer in &agent.kind().peers {
            let flow = Flow::new(agent.name(), peer);
            // A flow may already allow this.
            if !flows.iter().any(|(from, to)| (from.name(), to.name()) == (agent.name(), peer.as_str())) {
                all.push(flow);
            }
        }
    }
    let names = |agents: &[Agent]| agents.iter().map(|agent| agent.name().to_owned()).collect();
    match Chart::new(names(&agents), names(entry), all) {
        Ok(chart) => Ok((agents, chart)),
        Err(wrong) => {
            let lines: Vec<String> = wrong.iter().map(ToString::to_string).collect();
            Err(Error::Agency(lines.join("; ")))
        }
    }
}
