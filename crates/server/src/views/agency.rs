//! Agencies and their threads.

use std::sync::Arc;

use entourage_api::{Agency, Flow, Thread};
use entourage_engine::{agencies, responses::sender_of};
use entourage_types::Agent;

pub(crate) fn agency(agency: Arc<entourage_engine::Agency>) -> Agency {
    let chart = &agency.chart;
    let flow = |flow: &agencies::Flow| Flow { from: flow.from.clone(), to: flow.to.clone() };
    Agency {
        name: agency.name.clone(),
        description: agency.description.clone(),
        agents: chart.agents().to_vec(),
        entry_points: chart.entry_points().to_vec(),
        flows: chart.flows().iter().map(flow).collect(),
        shared_instructions: agency.shared_instructions.clone(),
        mermaid: chart.mermaid(),
    }
}

pub(crate) fn thread(agent: Agent) -> Thread {
    let (sender, status) = (sender_of(&agent), agent.shown());
    Thread { agent: agent.kind, sender, id: agent.id, status, items: agent.items }
}
