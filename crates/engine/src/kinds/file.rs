//! One kind's file: YAML front matter between two lines of `---`, then the instructions.
//!
//! `name`, `description`, `model`, `tools` and the body follow the convention that coding agents use for
//! their sub-agent files: such a file is read as they read it. Keys and values that mean something only there
//! get a remark and are not refused.

use std::collections::BTreeMap;

use entourage_tools::TextSchema;
use entourage_types::{
    ContextPolicy, Cost, CreatedTasks, EffectClasses, Guardrails, InDoubt, Input, Kind, Limits, OnLimit,
    ProgramName, Reply, TriggerRule, Verdict, checked_name,
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Finding, approval,
    foreign_tool_names::{Listed, tools_here},
    front_matter::{Names, Read, lenient_front_matter, line_of},
    name_of_file,
};
use crate::digest::digest;

/// Keys of this engine; any other gets a remark.
const KEYS: [&str; 23] = [
    "name",
    "description",
    "model",
    "fallback",
    "tools",
    "effects",
    "approval",
    "in_doubt",
    "program",
    "program_settings",
    "peers",
    "conversational",
    "reply",
    "input",
    "on_limit",
    "tasks",
    "triggers",
    "permanent",
    "guardrails",
    "context",
    "limits",
    "temperature",
    "output_schema",
];

#[derive(Deserialize)]
struct FrontMatter {
    name: Option<String>,
    description: Option<String>,
    model: Option<Names>,
    #[serde(default)]
    fallback: Names,
    tools: Option<Listed>,
    #[serde(default, rename = "disallowedTools")]
    refused_tools: Names,
    #[serde(default)]
    effects: Effects,
    #[serde(default)]
    approval: Vec<approval::Written>,
    #[serde(default)]
    in_doubt: InDoubt,
    #[serde(default)]
    program: ProgramName,
    program_settings: Option<Value>,
    #[serde(default)]
    peers: Names,
    #[serde(default)]
    conversational: bool,
    reply: Option<Reply>,
    input: Option<Input>,
    #[serde(default)]
    on_limit: OnLimit,
    tasks: Option<CreatedTasks>,
    #[serde(default)]
    triggers: BTreeMap<String, TriggerRule>,
    #[serde(default)]
    permanent: bool,
    #[serde(default)]
    guardrails: Guardrails,
    #[serde(default)]
    context: ContextPolicy,
    #[serde(default)]
    limits: Limits,
    temperature: Option<f64>,
    output_schema: Option<Value>,
}

/// The kind's own classes of its tools' effects.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Effects {
    pure: Names,
    idempotent: Names,
    r#unsafe: Names,
}

/// Parses one file. With a mistake in it there is no kind; remarks do not prevent one.
#[must_use]
pub fn parse(file: &str, text: &str) -> (Option<Kind>, Vec<Finding>) {
    let (read, mut findings) = match lenient_front_matter::<FrontMatter>(file, text, &KEYS) {
        Ok(read) => read,
        Err(mistake) => return (None, vec![mistake]),
    };
    let Read { front, body, body_line, matter } = read;
    let front = &*front;
    findings.extend(unknown_keys(file, front));
    let name = name_here(matter.name, file, line_of(front, "name"), &mut findings);
    if let Some(why) = bad_name(&name) {
        findings.push(Finding::mistake(file, line_of(front, "name"), why));
    }
    if body.trim().is_empty() {
        let why = "there are no instructions: write them below the second `---`";
        findings.push(Finding::mistake(file, body_line, why));
    }
    if matter.temperature.is_some_and(|t| !(0.0..=2.0).contains(&t)) {
        let why = "temperature must be between 0 and 2";
        findings.push(Finding::mistake(file, line_of(front, "temperature"), why));
    }
    for why in bad_limits(&matter.limits) {
        findings.push(Finding::mistake(file, line_of(front, "limits"), why));
    }
    for why in bad_context(&matter.context) {
        findings.push(Finding::mistake(file, line_of(front, "context"), why));
    }
    for why in bad_triggers(&matter.triggers) {
        findings.push(Finding::mistake(file, line_of(front, "triggers"), why));
    }
    let at_tools = line_of(front, "tools");
    let tools = tools_here(matter.tools, &matter.refused_tools, (file, at_tools), &mut findings);
    let (model, others) = models_here(matter.model, file, line_of(front, "model"), &mut findings);
    let mut fallback = matter.fallback.into_vec();
    fallback.splice(..0, others);
    if let Some(nameless) = fallback.iter().find(|model| !model.contains("::")) {
        let why = format!("fallback `{nameless}` is not of the form `provider::name`");
        findings.push(Finding::mistake(file, line_of(front, "fallback"), why));
    }
    if let Some(Err(error)) = matter.output_schema.as_ref().map(TextSchema::new) {
        let why = format!("output_schema: {error}");
        findings.push(Finding::mistake(file, line_of(front, "output_schema"), why));
    }
    let answer_seconds = matter.limits.answer_seconds;
    let mut rules = Vec::new();
    for written in matter.approval {
        match written.read(answer_seconds) {
            Ok(rule) => rules.push(rule),
            Err(why) => findings.push(Finding::mistake(file, line_of(front, "approval"), why)),
        }
    }
    if !matches!(matter.in_doubt.otherwise, Verdict::Retry | Verdict::GiveUp) {
        let why = "`otherwise` is `retry` or `give_up` here";
        findings.push(Finding::mistake(file, line_of(front, "in_doubt"), why));
    }
    if findings.iter().any(|finding| finding.severity == super::Severity::Mistake) {
        return (None, findings);
    }
    let kind = Kind {
        description: matter.description.unwrap_or_default().trim().to_owned(),
        model,
        fallback,
        tools,
        effects: EffectClasses {
            pure: matter.effects.pure.into_vec(),
            idempotent: matter.effects.idempotent.into_vec(),
            r#unsafe: matter.effects.r#unsafe.into_vec(),
        },
        approval: rules,
        in_doubt: matter.in_doubt,
        program: matter.program,
        program_settings: matter.program_settings,
        peers: matter.peers.into_vec(),
        conversational: matter.conversational,
        reply: matter.reply.unwrap_or(Reply::FinalText),
        input: matter.input.unwrap_or(Input::Steer),
        on_limit: matter.on_limit,
        tasks: matter.tasks,
        triggers: matter.triggers,
        permanent: matter.permanent,
        guardrails: matter.guardrails,
        context: matter.context,
        limits: matter.limits,
        output_schema: matter.output_schema,
        temperature: matter.temperature,
        instructions: body.trim().to_owned(),
        version: version(text),
        name,
    };
    (Some(kind), findings)
}

/// What is wrong with a name for a kind, if anything is.
#[must_use]
pub fn bad_name(name: &str) -> Option<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        return Some(format!("`{name}` is no name for a kind: use 1 to 64 letters, digits, `-` and `_`"));
    }
    (name == "user").then(|| "`user` is what agents call the person they talk to; choose another name".into())
}

/// Triggers without a name that can be kept, or without a text.
fn bad_triggers(triggers: &BTreeMap<String, TriggerRule>) -> impl Iterator<Item = String> {
    triggers.iter().filter_map(|(name, rule)| {
        match checked_name(name) {
            Ok(checked) if checked == *name => {}
            Ok(_) => return Some(format!("the trigger `{name}` has blanks around its name")),
            Err(why) => return Some(format!("`{name}` is no name for a trigger: {why}")),
        }
        rule.text.trim().is_empty().then(|| format!("the trigger `{name}` has no text"))
    })
}

/// Limits under which every run ends before its first answer, and those that mean nothing.
fn bad_limits(limits: &Limits) -> impl Iterator<Item = String> {
    let counts = [
        ("max_steps", limits.max_steps == 0),
        ("max_seconds", limits.max_seconds == 0),
        ("max_tokens", limits.max_tokens == 0),
        ("max_answer_tokens", limits.max_answer_tokens == Some(0)),
    ];
    let none = counts.into_iter().filter(|(_, is_none)| *is_none);
    let none = none.map(|(key, _)| format!("limits.{key} must be 1 or more"));
    let no_money = (limits.max_cost == Some(Cost::default()))
        .then(|| "limits.max_cost must be more than $0; without it, there is no limit".to_owned());
    let over = (limits.min_kept_percent > 100)
        .then(|| "limits.min_kept_percent must be 0 to 100: a share of a document".to_owned());
    none.chain(no_money).chain(over)
}

fn bad_context(context: &ContextPolicy) -> impl Iterator<Item = &'static str> {
    let share = (0.2..=0.95).contains(&context.compact_at);
    let share = (!share).then_some("context: compact_at must be between 0.2 and 0.95");
    let idle = (context.idle_minutes == Some(0)).then_some("context: idle_minutes must be 1 or more");
    let many = (context.summaries() > 20).then_some("context: summaries must be 20 or fewer");
    let interval = (context.time_minutes == 0).then_some("context: time_minutes must be 1 or more");
    let none = (context.messages == Some(0)).then_some("context: messages must be 1 or more");
    share.into_iter().chain(idle).chain(many).chain(interval).chain(none)
}

fn unknown_keys(file: &str, front: &str) -> Vec<Finding> {
    let keys = front.lines().enumerate().filter_map(|(index, line)| {
        let key = line.split_once(':')?.0;
        let top_level = !key.is_empty() && !key.starts_with([' ', '\t', '#', '-']);
        (top_level && !KEYS.contains(&key.trim()) && key.trim() != "disallowedTools")
            .then(|| (index + 2, key.trim()))
    });
    let finding = |(line, key)| match key {
        // A kind must not work without the guardrails that its author believes it has.
        "checks" => {
            Finding::mistake(file, line, "`checks` is called `guardrails` now, and its `beside` `parallel`")
        }
        key => Finding::remark(file, line, format!("`{key}` is not a known key and is ignored")),
    };
    keys.map(finding).collect()
}

/// The name that a file gives, or the file's own name if it gives none. A name that other programs only show,
/// such as `Code Reviewer`, is turned into one that can be used.
fn name_here(name: Option<String>, file: &str, line: usize, findings: &mut Vec<Finding>) -> String {
    let Some(name) = name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()) else {
        return name_of_file(file).to_owned();
    };
    if !name.contains(char::is_whitespace) {
        return name;
    }
    let made = name.split_whitespace().collect::<Vec<_>>().join("-").to_ascii_lowercase();
    if bad_name(&made).is_some() {
        return name;
    }
    findings.push(Finding::remark(file, line, format!("`{name}` is called `{made}` here")));
    made
}

/// The model, and those to ask instead. Only `provider::name` names one here; for other programs' short names
/// the engine's default is used.
fn models_here(
    models: Option<Names>,
    file: &str,
    line: usize,
    findings: &mut Vec<Finding>,
) -> (Option<String>, Vec<String>) {
    let (ours, theirs): (Vec<_>, Vec<_>) =
        models.unwrap_or_default().into_vec().into_iter().partition(|model| model.contains("::"));
    for model in theirs.iter().filter(|model| !["", "inherit"].contains(&model.as_str())) {
        let next = if ours.is_empty() { "; the default model is used" } else { "" };
        let text = format!("model `{model}` is not of the form `provider::name`{next}");
        findings.push(Finding::remark(file, line, text));
    }
    let mut ours = ours.into_iter();
    (ours.next(), ours.collect())
}

/// The version of a kind with this text.
pub(super) fn version(text: &str) -> String {
    digest(text).chars().take(16).collect()
}

#[cfg(test)]
mod tests;
