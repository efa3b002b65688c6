//! What is wrong with kinds, with file and line, and what to do about it.

use std::{collections::HashMap, fmt, sync::Arc};

use entourage_types::Kind;
use serde::Serialize;

use super::pattern;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The kind is not loaded.
    Mistake,
    /// The kind is loaded; something in it has no effect here.
    Remark,
}

/// A finding of `entourage kinds check`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The file, or the kind's name if the file is not known.
    pub file: String,
    /// The line, from 1; 0 if there is none to name.
    pub line: usize,
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong, and what to do.
    pub text: String,
}

impl Finding {
    pub(crate) fn mistake(file: &str, line: usize, text: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, severity: Severity::Mistake, text: text.into() }
    }

    pub(crate) fn remark(file: &str, line: usize, text: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, severity: Severity::Remark, text: text.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.severity {
            Severity::Mistake => "error",
            Severity::Remark => "note",
        };
        match self.line {
            0 => write!(f, "{}: {word}: {}", self.file, self.text),
            line => write!(f, "{}:{line}: {word}: {}", self.file, self.text),
        }
    }
}

/// Peers that do not exist, and tools that this engine does not have.
pub(super) fn references<'a>(
    kinds: impl Iterator<Item = &'a Arc<Kind>> + Clone,
    tools: &[&str],
) -> Vec<Finding> {
    let known: HashMap<&str, &Kind> = kinds.clone().map(|kind| (kind.name.as_str(), &**kind)).collect();
    let mut findings = Vec::new();
    for kind in kinds {
        for peer in &kind.peers {
            let text = match known.get(peer.as_str()) {
                None => format!("peer `{peer}` is no kind of this engine; messages to it will be refused"),
                Some(peer) if peer.description.trim().is_empty() => {
                    format!("peer `{}` has no `description`; a model is offered its name alone", peer.name)
                }
                Some(_) => continue,
            };
            findings.push(Finding::remark(&kind.name, 0, text));
        }
        if let Some(tasks) = kind.tasks.as_ref().filter(|tasks| !known.contains_key(tasks.kind.as_str())) {
            let text = format!("`tasks` names the kind `{}`, which this engine does not have", tasks.kind);
            findings.push(Finding::remark(&kind.name, 0, text));
        }
        let of_effects = kind
            .effects
            .listed()
            .into_iter()
            .flat_map(|(_, names)| names.iter().map(|name| ("effects", name)));
        let of_approval =
            kind.approval.iter().flat_map(|rule| rule.tools.iter().map(|name| ("approval", name)));
        for (key, name) in of_effects.chain(of_approval) {
            if !tools.iter().any(|tool| pattern::names(name, tool)) && !is_of_server(name) {
                let text =
                    format!("`{key}` names `{name}`, which is no tool of this engine; it has no effect");
                findings.push(Finding::remark(&kind.name, 0, text));
            }
        }
        let listed = kind.tools.iter().flatten();
        for tool in listed
            .filter(|tool| !tools.iter().any(|known| pattern::names(tool, known)) && !is_of_server(tool))
        {
            let text = format!("tool `{tool}` is not set up in this engine; the kind works without it");
            findings.push(Finding::remark(&kind.name, 0, text));
        }
    }
    findings
}

/// Whether a name is that of a tool of an MCP server, whose tools are known only once it is connected.
fn is_of_server(name: &str) -> bool {
    name.starts_with("mcp") || name.contains("__")
}
