//! Translates the tools of other programs to ours, and reads the ways in which these programs list tools.

use std::collections::{BTreeMap, HashSet};

use entourage_types::tool_names;
use serde::Deserialize;
use serde_json::Value;

use super::{Finding, front_matter::Names};

/// Names of other programs by ours, without regard to case.
const OURS: [(&str, &[&str]); 6] = [
    (
        tool_names::READ_FILE,
        &["read", "readfile", "read/readfile", "notebookread", "view", "read_many_files"],
    ),
    (
        tool_names::LIST_FILES,
        &["glob", "ls", "list", "list_directory", "search/listdirectory", "search/filesearch"],
    ),
    (tool_names::FETCH_URL, &["webfetch", "fetch", "web_fetch", "web/fetch", "fetch_webpage"]),
    (tool_names::WEB_SEARCH, &["websearch", "google_web_search", "web/search"]),
    (tool_names::SPAWN_AGENT, &["task", "agent", "agent/runsubagent", "runsubagent"]),
    (tool_names::ASK_USER, &["askuserquestion", "ask_user_question", "question", "vscode/askquestions"]),
];

/// Tools of other programs without an equivalent of ours whose names look like ours.
const FOREIGN: [&str; 16] = [
    "bash",
    "changes",
    "codebase",
    "edit",
    "execute",
    "grep",
    "multiedit",
    "patch",
    "problems",
    "run_shell_command",
    "search",
    "todo",
    "todoread",
    "todowrite",
    "usages",
    "write",
];

/// The tools that a program for coding has by default, as far as we have them.
const USUAL: [&str; 4] =
    [tool_names::LIST_FILES, tool_names::READ_FILE, tool_names::FETCH_URL, tool_names::WEB_SEARCH];

/// `tools` as it may be written: names, or names with switches.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Listed {
    Names(Names),
    Switches(BTreeMap<String, Value>),
}

/// The tools that a file lists, by our names; none if it leaves all of them on.
pub(super) fn tools_here(
    listed: Option<Listed>,
    refused: &Names,
    (file, line): (&str, usize),
    findings: &mut Vec<Finding>,
) -> Option<Vec<String>> {
    let mut remark = |text: String| findings.push(Finding::remark(file, line, text));
    let (on, mut off) = match listed {
        None => (None, Vec::new()),
        Some(Listed::Names(names)) => (Some(words(&names)), Vec::new()),
        Some(Listed::Switches(switches)) => {
            let is_off = |value: &Value| matches!(value, Value::Bool(false)) || value == "deny";
            let (off, on): (Vec<_>, Vec<_>) = switches.into_iter().partition(|(_, value)| is_off(value));
            let names = |list: Vec<(String, Value)>| list.into_iter().map(|(name, _)| name).collect();
            let (on, off): (Vec<String>, Vec<String>) = (names(on), names(off));
            // Tools are on by default; `*: false` makes them off by default.
            let only = off.iter().any(|name| name == "*");
            (only.then_some(on), off)
        }
    };
    off.extend(words(refused));
    if on.is_none() && off.is_empty() {
        return None;
    }
    let on = on.unwrap_or_else(|| USUAL.map(str::to_owned).to_vec());
    if on.len() == 1 && (on[0] == "*" || on[0] == "all") && off.is_empty() {
        return None;
    }
    // Those that are not wanted, or are listed already.
    let mut seen: HashSet<String> = off.iter().filter_map(|name| here(name).ok()).collect();
    let mut tools: Vec<String> = Vec::new();
    for name in on {
        match here(&name) {
            Ok(ours) if !seen.insert(ours.clone()) => {}
            Ok(ours) => tools.push(ours),
            Err(()) => remark(format!("tool `{name}` belongs to another program and is left out")),
        }
    }
    Some(tools)
}

/// A tool by our name; an error if we have none.
fn here(name: &str) -> Result<String, ()> {
    let bare = name.split_once('(').map_or(name, |(bare, _)| bare).trim();
    let folded = bare.to_ascii_lowercase();
    if let Some((ours, _)) = OURS.iter().find(|(ours, theirs)| *ours == folded || theirs.contains(&&*folded))
    {
        return Ok((*ours).to_owned());
    }
    if let Some((server, tool)) = bare.split_once('/') {
        return match tool {
            "*" => Ok(format!("mcp__{server}")),
            _ => Err(()),
        };
    }
    let foreign = bare.starts_with(|c: char| c.is_ascii_uppercase()) || FOREIGN.contains(&&*folded);
    // A name with a capital inside is no name of ours, nor is an empty one.
    let is_ours =
        !bare.is_empty() && (bare.contains("__") || !bare.contains(|c: char| c.is_ascii_uppercase()));
    if foreign || !is_ours { Err(()) } else { Ok(bare.to_owned()) }
}

/// The names of a list. Each entry may hold several, separated by commas or blanks; text in brackets belongs
/// to its name.
fn words(names: &Names) -> Vec<String> {
    let entries: Vec<&str> = match names {
        Names::List(entries) => entries.iter().map(String::as_str).collect(),
        Names::Line(line) => vec![line],
    };
    let mut all = Vec::new();
    for entry in entries {
        let (mut depth, mut word) = (0_u32, String::new());
        for c in entry.chars().chain([',']) {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && (c == ',' || c.is_whitespace()) {
                all.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
            } else {
                word.push(c);
            }
        }
        // A bracket that is never closed.
        let rest = word.trim_end_matches(',').to_owned();
        all.extend(Some(rest).filter(|rest| !rest.is_empty()));
    }
    all
}
