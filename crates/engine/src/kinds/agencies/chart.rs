//! Who may write to whom: a chart is checked on creation, and valid from then on.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    str::FromStr,
};

use serde::Serialize;

/// One direction of messages. That `from` may write to `to` does not allow the reverse.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Flow {
    /// The agent that writes.
    pub from: String,
    /// The agent that is written to, and answers.
    pub to: String,
}

impl Flow {
    /// A flow of messages from one agent to another.
    pub fn new(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self { from: from.into(), to: to.into() }
    }
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {}", self.from, self.to)
    }
}

/// Flows on one line, as `ceo > developer > reviewer`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flows(pub(super) Vec<Flow>);

impl FromStr for Flows {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let names: Vec<&str> = line.split('>').map(|name| name.trim().trim_end_matches('-').trim()).collect();
        if names.len() < 2 || names.iter().any(|name| name.is_empty()) {
            return Err(format!(
                "`{line}` is not a flow: write `ceo > developer`, the sender and the recipient"
            ));
        }
        Ok(Self(names.windows(2).map(|pair| Flow::new(pair[0], pair[1])).collect()))
    }
}

/// The agents of an agency, the entry points that a person may talk to, and who may write to whom (S2-R034 to
/// R036).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Chart {
    agents: Vec<String>,
    entry_points: Vec<String>,
    flows: Vec<Flow>,
}

/// What is wrong with a chart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChartError {
    /// There is no agent that a person may talk to.
    #[error("there is no entry point: name at least one agent that a person may talk to")]
    NoEntryPoint,
    /// An agent or an entry point is listed more than once.
    #[error("`{0}` is listed twice")]
    Twice(String),
    /// A flow is listed more than once.
    #[error("the flow `{0}` is listed twice")]
    FlowTwice(Flow),
    /// An entry point is no agent of the chart.
    #[error("the entry point `{name}` is not an agent of this agency; there are: {known}")]
    UnknownEntryPoint {
        /// Its name.
        name: String,
        /// The agents of the chart.
        known: String,
    },
    /// A flow names an agent that the chart lacks.
    #[error("the flow `{flow}` names `{name}`, which is not an agent of this agency; there are: {known}")]
    UnknownAgent {
        /// The flow.
        flow: Flow,
        /// The name that the chart lacks.
        name: String,
        /// The agents of the chart.
        known: String,
    },
    /// A flow leads from an agent to itself.
    #[error("`{0}` cannot write to itself")]
    ToItself(String),
}

impl Chart {
    /// Checks a chart.
    ///
    /// # Errors
    /// Everything that is wrong with it, in the order it is read.
    pub fn new(
        agents: Vec<String>,
        entry_points: Vec<String>,
        flows: Vec<Flow>,
    ) -> Result<Self, Vec<ChartError>> {
        let known: HashSet<&str> = agents.iter().map(String::as_str).collect();
        let all = || agents.join(", ");
        let mut wrong: Vec<ChartError> =
            doubles(&agents).map(|name| ChartError::Twice(name.clone())).collect();
        if entry_points.is_empty() {
            wrong.push(ChartError::NoEntryPoint);
        }
        wrong.extend(doubles(&entry_points).map(|name| ChartError::Twice(name.clone())));
        let strangers = entry_points.iter().filter(|name| !known.contains(name.as_str()));
        wrong
            .extend(strangers.map(|name| ChartError::UnknownEntryPoint { name: name.clone(), known: all() }));
        for flow in &flows {
            for name in [&flow.from, &flow.to].into_iter().filter(|name| !known.contains(name.as_str())) {
                let (flow, name) = (flow.clone(), name.clone());
                wrong.push(ChartError::UnknownAgent { flow, name, known: all() });
            }
            if flow.from == flow.to {
                wrong.push(ChartError::ToItself(flow.from.clone()));
            }
        }
        wrong.extend(doubles(&flows).map(|flow| ChartError::FlowTwice(flow.clone())));
        if wrong.is_empty() { Ok(Self { agents, entry_points, flows }) } else { Err(wrong) }
    }

    /// All agents, in the order they were given.
    #[must_use]
    pub fn agents(&self) -> &[String] {
        &self.agents
    }

    /// The agents that a person may talk to; the first unless another is named.
    #[must_use]
    pub fn entry_points(&self) -> &[String] {
        &self.entry_points
    }

    /// All flows, in the order they were given.
    #[must_use]
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// The agents that an agent may write to, in the order of the flows.
    #[must_use]
    pub fn peers(&self, agent: &str) -> Vec<String> {
        self.flows.iter().filter(|flow| flow.from == agent).map(|flow| flow.to.clone()).collect()
    }

    /// Agents that no message can reach.
    #[must_use]
    pub fn unreachable(&self) -> Vec<&str> {
        let mut reached: HashSet<&str> = HashSet::new();
        let mut left: Vec<&str> = self.entry_points.iter().map(String::as_str).collect();
        let mut peers: HashMap<&str, Vec<&str>> = HashMap::new();
        for flow in &self.flows {
            peers.entry(&flow.from).or_default().push(&flow.to);
        }
        while let Some(agent) = left.pop() {
            if reached.insert(agent) {
                left.extend(peers.get(agent).into_iter().flatten());
            }
        }
        self.agents.iter().map(String::as_str).filter(|agent| !reached.contains(agent)).collect()
    }
}

/// The repeated entries of a list.
fn doubles<T: Eq + std::hash::Hash>(list: &[T]) -> impl Iterator<Item = &T> {
    let mut seen = HashSet::new();
    list.iter().filter(move |entry| !seen.insert(*entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(agents: &[&str], entry: &[&str], flows: &[(&str, &str)]) -> Result<Chart, Vec<ChartError>> {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        Chart::new(
            names(agents),
            names(entry),
            flows.iter().map(|(from, to)| Flow::new(*from, *to)).collect(),
        )
    }

    #[test]
    fn a_flow_goes_one_way() {
        let chart = chart(&["ceo", "dev", "qa"], &["ceo"], &[("ceo", "dev"), ("dev", "qa"), ("ceo", "qa")])
            .expect("it is right");
        assert_eq!(chart.peers("ceo"), ["dev", "qa"]);
        assert_eq!(chart.peers("dev"), ["qa"]);
        assert_eq!(chart.peers("qa"), [""; 0]);
        assert_eq!(chart.unreachable(), [""; 0]);
    }

    #[test]
    fn an_invalid_chart_reports_every_mistake_at_once() {
        let known = || "ceo, ceo".to_owned();
        let wrong = chart(&["ceo", "ceo"], &[], &[("ceo", "ceo"), ("ceo", "eve"), ("ceo", "eve")]);
        let stranger =
            || ChartError::UnknownAgent { flow: Flow::new("ceo", "eve"), name: "eve".into(), known: known() };
        assert_eq!(
            wrong.unwrap_err(),
            [
                ChartError::Twice("ceo".into()),
                ChartError::NoEntryPoint,
                ChartError::ToItself("ceo".into()),
                stranger(),
                stranger(),
                ChartError::FlowTwice(Flow::new("ceo", "eve")),
            ]
        );
        let stranger = ChartError::UnknownEntryPoint { name: "eve".into(), known: "ceo".into() };
        assert_eq!(chart(&["ceo"], &["eve"], &[]).unwrap_err(), [stranger]);
    }

    #[test]
    fn a_chart_lists_its_unreachable_agents() {
        let chart =
            chart(&["a", "b", "c", "d"], &["a"], &[("a", "b"), ("b", "a"), ("c", "d")]).expect("right");
        assert_eq!(chart.unreachable(), ["c", "d"]);
    }

    #[test]
    fn a_line_of_arrows_is_parsed_into_flows() {
        let flows = |line: &str| line.parse::<Flows>().map(|flows| flows.0);
        let both = vec![Flow::new("ceo", "dev"), Flow::new("dev", "qa")];
        assert_eq!(flows("ceo > dev>qa"), Ok(both.clone()));
        assert_eq!(flows("ceo -> dev -> qa"), Ok(both));
        for wrong in ["ceo", "ceo >", "> dev", "ceo > > dev", ""] {
            assert!(flows(wrong).unwrap_err().contains("the sender and the recipient"), "{wrong}");
        }
    }
}
