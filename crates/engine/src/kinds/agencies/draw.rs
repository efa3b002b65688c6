//! A chart as a drawing: for a terminal, and as Mermaid for a page.

use std::{collections::HashSet, fmt::Write as _};

use super::Chart;

impl Chart {
    /// The chart as a Mermaid flowchart, which many pages and editors draw.
    #[must_use]
    pub fn mermaid(&self) -> String {
        let place = |name: &str| self.agents().iter().position(|agent| agent == name).unwrap_or_default();
        let mut text = String::from("flowchart LR\n    user((user))\n");
        // Names may be keywords of Mermaid, so they are used as labels only.
        for (nth, agent) in self.agents().iter().enumerate() {
            let _ = writeln!(text, "    a{nth}[\"{agent}\"]");
        }
        for agent in self.entry_points() {
            let _ = writeln!(text, "    user --> a{}", place(agent));
        }
        for flow in self.flows() {
            let _ = writeln!(text, "    a{} --> a{}", place(&flow.from), place(&flow.to));
        }
        text
    }

    /// The chart as a tree for a terminal, from the user down. An agent whose peers were drawn before has `…`
    /// after its name.
    #[must_use]
    pub fn tree(&self) -> String {
        let mut text = String::from("user\n");
        let mut drawn = HashSet::new();
        self.branches(self.entry_points(), "", &mut drawn, &mut text);
        for agent in self.unreachable() {
            let _ = writeln!(text, "{agent} (unreachable)");
        }
        text
    }

    fn branches(&self, agents: &[String], indent: &str, drawn: &mut HashSet<String>, text: &mut String) {
        for (nth, agent) in agents.iter().enumerate() {
            let is_last = nth + 1 == agents.len();
            let (branch, below) = if is_last { ("└─", "   ") } else { ("├─", "│  ") };
            let peers = self.peers(agent);
            let again = !peers.is_empty() && !drawn.insert(agent.clone());
            let _ = writeln!(text, "{indent}{branch} {agent}{}", if again { " …" } else { "" });
            if !again {
                self.branches(&peers, &format!("{indent}{below}"), drawn, text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Chart, Flow};

    fn chart() -> Chart {
        let names = ["ceo", "end", "qa"].map(String::from).to_vec();
        let flows = [("ceo", "end"), ("end", "qa"), ("qa", "ceo"), ("ceo", "qa")];
        let flows = flows.map(|(from, to)| Flow::new(from, to)).to_vec();
        Chart::new(names, vec!["ceo".into(), "qa".into()], flows).expect("it is right")
    }

    #[test]
    fn a_chart_with_cycles_draws_the_flows_of_each_agent_once() {
        let drawn = "user\n├─ ceo\n│  ├─ end\n│  │  └─ qa\n│  │     └─ ceo …\n│  └─ qa …\n└─ qa …\n";
        assert_eq!(chart().tree(), drawn);
    }

    #[test]
    fn an_agent_without_incoming_flows_is_drawn_too() {
        let names = ["a", "b"].map(String::from).to_vec();
        let chart = Chart::new(names, vec!["a".into()], vec![]).expect("it is right");
        assert_eq!(chart.tree(), "user\n└─ a\nb (unreachable)\n");
    }

    #[test]
    fn agent_names_are_quoted_labels_in_mermaid() {
        let text = "flowchart LR\n    user((user))\n    a0[\"ceo\"]\n    a1[\"end\"]\n    a2[\"qa\"]\n    \
                    user --> a0\n    user --> a2\n    a0 --> a1\n    a1 --> a2\n    a2 --> a0\n    a0 --> a2\n";
        assert_eq!(chart().mermaid(), text);
    }
}
