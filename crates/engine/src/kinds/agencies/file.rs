//! One agency's file: YAML front matter between two lines of `---`, then the instructions that all its agents
//! share.

use serde::Deserialize;

use super::{Agency, Chart, Flow, chart::Flows};
use crate::kinds::{
    Finding, bad_name,
    front_matter::{Names, Read, front_matter, line_of},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontMatter {
    name: String,
    #[serde(default)]
    description: String,
    /// The agents that entry points and flows name, unless given.
    #[serde(default)]
    agents: Names,
    entry_points: Names,
    #[serde(default)]
    flows: Vec<String>,
}

/// Parses one file. With a mistake in it there is no agency; remarks do not prevent one.
#[must_use]
pub fn parse(file: &str, text: &str) -> (Option<Agency>, Vec<Finding>) {
    let Read { front, body, matter, .. } = match front_matter::<FrontMatter>(file, text) {
        Ok(read) => read,
        Err(mistake) => return (None, vec![mistake]),
    };
    let mut findings = Vec::new();
    if let Some(why) = bad_name(&matter.name) {
        findings.push(Finding::mistake(file, line_of(&front, "name"), why));
    }
    let at_flows = line_of(&front, "flows");
    let mut flows = Vec::new();
    for line in &matter.flows {
        match line.parse::<Flows>() {
            Ok(Flows(read)) => flows.extend(read),
            Err(why) => findings.push(Finding::mistake(file, at_flows, why)),
        }
    }
    let entry_points = matter.entry_points.into_vec();
    let mut agents = matter.agents.into_vec();
    if agents.is_empty() {
        agents = named(&entry_points, &flows);
    }
    let chart = match Chart::new(agents, entry_points, flows) {
        Ok(chart) => Some(chart),
        Err(wrong) => {
            findings
                .extend(wrong.into_iter().map(|wrong| Finding::mistake(file, at_flows, wrong.to_string())));
            None
        }
    };
    for agent in chart.iter().flat_map(Chart::unreachable) {
        let text = format!("`{agent}` is unreachable: it is not an entry point, and no flow leads to it");
        findings.push(Finding::remark(file, at_flows, text));
    }
    let is_whole = findings.iter().all(|finding| finding.severity == crate::kinds::Severity::Remark);
    let agency = chart.filter(|_| is_whole).map(|chart| Agency {
        name: matter.name,
        description: matter.description.trim().to_owned(),
        chart,
        shared_instructions: body.trim().to_owned(),
        file: file.to_owned(),
    });
    (agency, findings)
}

/// The agents that entry points and flows name, once each, in this order.
fn named(entry_points: &[String], flows: &[Flow]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in entry_points.iter().chain(flows.iter().flat_map(|flow| [&flow.from, &flow.to])) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agency_file_gives_a_chart_and_shared_instructions() {
        let text = "---\nname: studio\ndescription: Builds things.\nentry_points: ceo\nflows:\n  \
                    - ceo > developer > reviewer\n  - ceo > reviewer\n---\n\nBe brief.\n";
        let (agency, findings) = parse("studio.agency.md", text);
        let agency = agency.expect("it loads");
        assert_eq!(findings, []);
        assert_eq!((agency.name.as_str(), agency.shared_instructions.as_str()), ("studio", "Be brief."));
        assert_eq!(agency.chart.agents(), ["ceo", "developer", "reviewer"]);
        assert_eq!(agency.chart.peers("ceo"), ["developer", "reviewer"]);
    }

    #[test]
    fn every_mistake_names_its_line() {
        let only = |text: &str| {
            let (agency, findings) = parse("a.agency.md", text);
            assert_eq!(agency, None, "{findings:?}");
            assert_eq!(findings.len(), 1, "{findings:?}");
            findings[0].to_string()
        };
        assert!(only("Be brief.").contains(":1: error: the file must begin"));
        assert!(only("---\nname: a\nentry_points: x\nflow: []\n---\n").contains("flow"));
        assert!(only("---\nname: a\n---\n").contains("entry_points"));
        assert_eq!(
            only("---\nname: a\nentry_points: x\nflows:\n  - x y\n---\n"),
            "a.agency.md:4: error: `x y` is not a flow: write `ceo > developer`, the sender and the recipient"
        );
        assert_eq!(
            only("---\nname: a\nentry_points: x\nagents: x\nflows: [x > y]\n---\n"),
            "a.agency.md:5: error: the flow `x > y` names `y`, which is not an agent of this agency; there \
             are: x"
        );
        assert!(only("---\nname: a b\nentry_points: x\n---\n").contains(":2: error: `a b` is no name"));
    }

    #[test]
    fn an_unreachable_agent_gives_a_remark() {
        let (agency, findings) =
            parse("a.agency.md", "---\nname: a\nentry_points: ann\nagents: [ann, ben]\n---\n");
        assert!(agency.is_some());
        assert!(findings[0].text.contains("`ben` is unreachable"), "{findings:?}");
    }
}
