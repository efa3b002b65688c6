//! Front matter as the programs that such files were written for read it: if a value is not valid YAML, the
//! rest of its line is its text.

use serde_json::Value;

use super::yaml;

/// Keys whose values have parts. Errors in these are reported, not repaired.
const STRUCTURED: [&str; 9] = [
    "fallback",
    "effects",
    "approval",
    "in_doubt",
    "peers",
    "guardrails",
    "context",
    "limits",
    "output_schema",
];

/// Keys of other programs. Like the keys of this engine, they begin an entry below text that is not valid
/// YAML; any other line belongs to the text above it.
const KEYS_ELSEWHERE: [&str; 36] = [
    "agents",
    "allowed-tools",
    "argument-hint",
    "author",
    "background",
    "capabilities",
    "category",
    "color",
    "disable",
    "disable-model-invocation",
    "disallowedTools",
    "display_name",
    "effort",
    "handoffs",
    "hidden",
    "hooks",
    "icon",
    "infer",
    "isolation",
    "kind",
    "maxTurns",
    "max_turns",
    "mcp-servers",
    "mcpServers",
    "memory",
    "mode",
    "permission",
    "permissionMode",
    "readonly",
    "skills",
    "steps",
    "tags",
    "target",
    "top_p",
    "user-invocable",
    "version",
];

/// Returns the front matter with each text that is not valid YAML in quotes, and the changed lines, from 0;
/// none if nothing was changed. Every entry keeps its line.
pub(super) fn repaired(front: &str, known: &[&str]) -> Option<(String, Vec<usize>)> {
    let lines: Vec<&str> = front.lines().collect();
    let is_key = |word: &str| known.contains(&word) || KEYS_ELSEWHERE.contains(&word);
    let begins = |line: &str| line.split_once(':').is_some_and(|(word, _)| is_key(word));
    let starts: Vec<usize> = (0..lines.len()).filter(|&at| begins(lines[at])).collect();
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    let mut out: Vec<String> = lines[..*starts.first()?].iter().map(|line| (*line).to_owned()).collect();
    let mut changed = Vec::new();
    for (start, end) in starts.iter().copied().zip(ends) {
        let entry = &lines[start..end];
        match quoted(entry) {
            Some(text) => {
                changed.push(start);
                out.push(text);
                out.extend((start + 1..end).map(|_| String::new()));
            }
            None => {
                if entry.iter().any(|line| line.starts_with('\t')) {
                    changed.push(start);
                }
                out.extend(entry.iter().map(|line| indented(line)));
            }
        }
    }
    (!changed.is_empty()).then(|| (out.join("\n") + "\n", changed))
}

/// A line with spaces instead of the tabs before its text, which YAML does not allow.
fn indented(line: &str) -> String {
    let text = line.trim_start_matches('\t');
    "  ".repeat(line.len() - text.len()) + text
}

/// An entry as one line with its text in quotes; none if it can stay as it is.
fn quoted(entry: &[&str]) -> Option<String> {
    let (key, rest) = entry.first()?.split_once(':')?;
    if STRUCTURED.contains(&key) {
        return None;
    }
    let is_text = !matches!(key, "tools" | "model" | "disallowedTools");
    let has_parts = rest.trim_start().starts_with(['[', '{']) || rest.trim().is_empty();
    if !is_text && has_parts {
        return None;
    }
    let lines: Vec<String> = entry.iter().map(|line| indented(line)).collect();
    let read: Option<Value> = yaml::read(&lines.join("\n")).ok();
    let value = read.as_ref().and_then(|read| read.get(key));
    let fits = match value {
        Some(Value::Array(_) | Value::Object(_)) => key != "description" && key != "name",
        Some(Value::Null) => rest.trim().is_empty() || rest.trim() == "null" || rest.trim() == "~",
        Some(_) => true,
        None => false,
    };
    if fits {
        return None;
    }
    let more = entry[1..].iter().map(|line| line.trim_end());
    let text = std::iter::once(rest.trim()).chain(more).collect::<Vec<_>>().join("\n");
    Some(format!("{key}: {}", Value::String(text.trim().to_owned())))
}
