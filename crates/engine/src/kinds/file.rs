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
mod tests {
    use super::{super::Severity, *};

    #[test]
    fn what_a_file_says_about_sessions_stands_also_where_it_is_what_is_usual() {
        let context = "context: {sessions: idle, idle_minutes: 30, summaries: 5}";
        let (kind, findings) = parse("k.md", &format!("---\nname: k\ndescription: D.\n{context}\n---\nDo."));
        let mut kinds = super::super::Kinds::builtin().with(kind.unwrap_or_else(|| panic!("{findings:?}")));
        kinds.set_sessions(45, 3);
        let of = |name: &str| {
            let kind = kinds.get(name).expect("it was added");
            (kind.context.idle_minutes(), kind.context.summaries())
        };
        assert_eq!((of("k"), of("goal")), ((30, 5), (45, 3)));
    }

    fn only(text: &str) -> Finding {
        let (kind, findings) = parse("k.md", text);
        assert_eq!(kind, None, "{findings:?}");
        assert_eq!(findings.len(), 1, "{findings:?}");
        findings[0].clone()
    }

    /// An invalid schema is a mistake of its file, with its line.
    #[test]
    fn an_invalid_output_schema_is_a_mistake_with_its_line() {
        let found = only("---\nname: k\noutput_schema: {type: 5, required: yes}\n---\nDo.");
        assert_eq!((found.line, found.severity), (3, Severity::Mistake));
        assert!(found.text.starts_with("output_schema: the schema is not valid: "), "{found}");
    }

    #[test]
    fn the_old_key_checks_is_refused_with_its_new_name() {
        let found = only("---\nname: k\nchecks: { output: [polite] }\n---\nHello.\n");
        assert!(found.text.starts_with("`checks` is called `guardrails` now"), "{found}");
    }

    #[test]
    fn a_yaml_error_is_reported_in_plain_words() {
        let told = only("---\nname: k\ntools: [nope\n---\nHello.\n");
        assert_eq!(told.to_string(), "k.md:3: error: unclosed bracket '['");
        let told = only("---\nname: k\nguardrails: { output: polite }\n---\nHello.\n");
        assert_eq!(told.to_string(), "k.md:3: error: expected a list, such as `[one, two]`");
    }

    #[test]
    fn a_file_written_for_a_coding_agent_loads_unchanged() {
        let text = "---\nname: code-reviewer\ndescription: Reviews code. Use after edits.\n\
                    tools: Read, Grep, Glob, Bash, WebFetch\nmodel: sonnet\ncolor: blue\n---\n\nYou review code.\n";
        let (kind, findings) = parse("code-reviewer.md", text);
        let kind = kind.expect("loads");
        assert_eq!(
            kind.tools.as_deref(),
            Some(&["read_file", "list_files", "fetch_url"].map(String::from)[..])
        );
        assert_eq!((kind.model, kind.instructions.as_str()), (None, "You review code."));
        assert!(findings.iter().all(|finding| finding.severity == Severity::Remark));
        assert_eq!(findings.len(), 4, "{findings:?}");
    }

    #[test]
    fn the_docs_list_exactly_the_keys_of_a_kind() {
        let page = include_str!("../../../../docs/kinds.md");
        // Built-in tools are no keys.
        let sections = page.split("\n## ").filter(|section| !section.starts_with("tools\n"));
        let lines = sections.flat_map(str::lines);
        let rows = lines.filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let mut documented: Vec<String> = rows.map(str::to_owned).collect();
        let mut keys = KEYS.map(str::to_owned).to_vec();
        for (section, wrong) in [
            ("effects", "{ nothing: 1 }"),
            ("approval", "[{ nothing: 1 }]"),
            ("in_doubt", "{ nothing: 1 }"),
            ("guardrails", "{ nothing: 1 }"),
            ("context", "{ nothing: 1 }"),
            ("limits", "{ nothing: 1 }"),
        ] {
            // The error for a mistyped key lists the keys of its section.
            let told = only(&format!("---\nname: a\n{section}: {wrong}\n---\nDo.")).text;
            let (_, there_are) = told.split_once("expected").expect("the keys there are");
            let words = there_are.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            let words = words.filter(|word| !["", "one", "of", "or"].contains(word));
            keys.extend(words.map(|key| format!("{section}.{key}")));
        }
        keys.sort();
        documented.sort();
        assert_eq!(documented, keys);
    }

    #[test]
    fn a_limit_that_lets_no_run_answer_is_a_mistake() {
        for (limit, why) in [
            ("max_steps: 0", "limits.max_steps must be 1 or more"),
            ("max_seconds: 0", "limits.max_seconds must be 1 or more"),
            ("max_tokens: 0", "limits.max_tokens must be 1 or more"),
            ("max_answer_tokens: 0", "limits.max_answer_tokens must be 1 or more"),
            ("max_cost: $0", "limits.max_cost must be more than $0; without it, there is no limit"),
            ("max_cost: 0", "limits.max_cost must be more than $0; without it, there is no limit"),
            ("min_kept_percent: 101", "limits.min_kept_percent must be 0 to 100: a share of a document"),
        ] {
            let found = only(&format!("---\nname: a\nlimits: {{{limit}}}\n---\nDo."));
            assert_eq!((found.line, &*found.text), (3, why), "{limit}");
        }
        // A 0 that means something: no limit, no agents below, a budget of what people grant.
        let means = "max_same_tool: 0, max_repeats: 0, max_history: 0, max_depth: 0, max_children: 0, max_tree_cost: $0, \
                     max_tree_tokens: 0";
        let (kind, findings) = parse("a.md", &format!("---\nname: a\nlimits: {{{means}}}\n---\nDo."));
        assert!(kind.is_some() && findings.is_empty(), "{findings:?}");
    }

    #[test]
    fn every_mistake_names_its_line() {
        assert_eq!(only("You are helpful.").line, 1);
        assert!(only("---\nname: a\n").text.contains("no end"));
        assert_eq!(only("---\nname: a\nconversational: maybe\n---\nDo.").line, 3);
        assert_eq!(only("---\ndescription: x\nname: a/b\n---\nDo.").line, 3);
        assert_eq!(only("---\nname: a\n---\n\n").line, 4);
        assert!(only("---\nname: a\nlimits:\n  max_stepz: 3\n---\nDo.").text.contains("max_stepz"));
        assert!(only("---\nname: a\ncontext: {compact_at: 2}\n---\nDo.").text.contains("0.95"));
        assert!(only("---\nname: a\ncontext: {sections: [tme]}\n---\nDo.").text.contains("learnings"));
        assert_eq!(only("---\nname: a\nfallback: [gpt]\n---\nDo.").line, 3);
        let rule = |rule: &str| only(&format!("---\nname: a\napproval:\n  - {rule}\n---\nDo."));
        assert_eq!(rule("{ tools: pay, when: amount > much }").line, 3);
        assert!(rule("{ tools: pay, when: amount > much }").text.contains("`much` is no number"));
        assert!(rule("{ when: amount > 1 }").text.contains("says which calls wait"));
        assert!(rule("{ effect: dangerous }").text.contains("pure, idempotent, unsafe"));
        assert!(rule("{ tools: pay, otherwise: approve }").text.contains("answer_seconds"));
        assert!(rule("{ tools: pay, answer_seconds: 1, otherwise: retry }").text.contains("not `retry`"));
        assert!(rule("{ tool: pay }").text.contains("tool"));
        assert!(only("---\nname: a\nin_doubt: { otherwise: approve }\n---\nDo.").text.contains("give_up"));
        assert!(only("---\nname: a\neffects: { safe: pay }\n---\nDo.").text.contains("safe"));
        let trigger = |name: &str| {
            only(&format!("---\nname: a\ntriggers: {{{name:?}: {{text: Look.}}}}\n---\nDo.")).text
        };
        for name in ["", " ", "a\tb", &"x".repeat(201)] {
            assert!(trigger(name).contains("is no name for a trigger"), "{name:?}");
        }
        assert!(trigger(" look").contains("blanks around its name"));
    }
}
