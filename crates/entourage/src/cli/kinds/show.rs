//! `entourage kinds show`: shows one kind, as its file defines it, and its open runs.

use entourage::Settings;
use entourage_types::{Allowance, Kind, Section, Sessions};
use serde::Serialize;

use super::in_use::{Used, in_use};
use crate::cli::{backend::Result, describe, failure::Exit, globals::Globals, out, text::text};

/// Begins another line of what stands behind a name.
const BELOW: &str = "\n             ";

/// A kind with its use, for programs.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    kind: &'a Kind,
    /// Null if it is not known.
    in_use: Option<Used>,
}

pub(super) async fn show(globals: &Globals, settings: &Settings, name: &str) -> Result<Exit> {
    let (kinds, _) = entourage::loaded_kinds(settings)?;
    let kind = kinds.named(name)?;
    // It can be read, and is left out all the same.
    if let Err(why) = usable(kinds.clone()).named(name) {
        out::note(out::stderr().yellow(format!("note: no agent of this kind can work: {why}")));
    }
    let in_use = in_use(settings, globals.quiet).await?.into_iter().find(|used| used.name == name);
    if globals.json {
        out::json(&Shown { kind: &kind, in_use })?;
    } else {
        write(&kind, in_use.as_ref())?;
    }
    Ok(Exit::Done)
}

/// The kinds of which agents can work in a program that is built from settings alone.
fn usable(mut kinds: entourage::Kinds) -> entourage::Kinds {
    let _left_out = entourage::unchecked(&mut kinds);
    kinds
}

/// What all agents of a tree may spend whose top is of this kind.
fn budget(kind: &Kind) -> String {
    let allowance = Allowance { cost: kind.limits.max_tree_cost, tokens: kind.limits.max_tree_tokens };
    if allowance.is_unlimited() { "any".into() } else { allowance.to_string() }
}

/// What bounds its runs and its tree, each by the key of its file; what is not set and bounds nothing is left out.
fn limits(kind: &Kind) -> Result<String> {
    let mut limits = serde_json::to_value(&kind.limits)?;
    if let Some(cost) = kind.limits.max_cost {
        limits["max_cost"] = cost.to_string().into();
    }
    // What a tree may spend is its budget.
    let of_budget = |key: &str| key.starts_with("max_tree_");
    let limits = limits.as_object().into_iter().flatten();
    let set = limits.filter(|(key, value)| !value.is_null() && !of_budget(key)).map(|(key, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{key} {value}")
    });
    Ok(set.collect::<Vec<_>>().join(", "))
}

fn write(kind: &Kind, in_use: Option<&Used>) -> Result<()> {
    let paint = out::stdout();
    let names = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let lines = [
        ("version", kind.version.clone()),
        ("runs", runs(kind, in_use)),
        ("model", kind.model.clone().unwrap_or_else(|| "the default".into())),
        ("fallback", names(&kind.fallback)),
        ("tools", kind.tools.as_deref().map_or_else(|| "all".into(), names)),
        ("effects", effects(kind)),
        ("approval", approval(kind)),
        ("in doubt", in_doubt(kind)),
        ("peers", names(&kind.peers)),
        ("program", kind.program.to_string()),
        ("settings", kind.program_settings.as_ref().map_or_else(|| "none".into(), ToString::to_string)),
        ("reply", reply(kind)),
        ("input", kind.input.to_string()),
        ("on limit", kind.on_limit.to_string()),
        ("tasks", tasks(kind)),
        ("triggers", triggers(kind)),
        ("guardrails", guardrails(kind)),
        ("sampling", kind.temperature.map_or_else(|| "the default".into(), |t| format!("temperature {t}"))),
        ("schema", kind.output_schema.as_ref().map_or_else(|| "any answer".into(), ToString::to_string)),
        ("context", context(kind)),
        ("limits", limits(kind)?),
        ("budget", budget(kind)),
        (
            "permanent",
            if kind.permanent { "yes: its trees are kept until they are deleted" } else { "no" }.into(),
        ),
    ];
    out::result(text![paint.bold(&kind.name), ": ", &kind.description])?;
    for (what, text) in lines {
        out::result(text!["  ", paint.dim(format!("{what:10}")), " ", text])?;
    }
    out::result(text!["\n", &kind.instructions])
}

/// The open runs of each version. A server may not have read the current file.
fn runs(kind: &Kind, in_use: Option<&Used>) -> String {
    let Some(used) = in_use.filter(|used| !used.gone && used.version == kind.version) else {
        return "the server has not loaded this version: `entourage kinds reload` loads it".into();
    };
    let runs = used.runs();
    if runs.is_empty() { "none open".into() } else { runs }
}

/// The tasks that a kind's agents create.
fn tasks(kind: &Kind) -> String {
    kind.tasks
        .as_ref()
        .map_or_else(|| "none".into(), |tasks| format!("{}; the end of one is {}", tasks.kind, tasks.on_end))
}

/// What sets a kind's agents to work without a message, and what they then read.
fn triggers(kind: &Kind) -> String {
    let named: Vec<String> = kind
        .triggers
        .iter()
        .map(|(name, rule)| {
            let ends = if rule.ends_session { " (ends the session)" } else { "" };
            format!("{name}{ends}: {}", describe::cut(&rule.text, usize::MAX))
        })
        .collect();
    if named.is_empty() { "none".into() } else { named.join(BELOW) }
}

/// The effects of tools that a kind declares.
fn effects(kind: &Kind) -> String {
    let said = kind.effects.listed().into_iter().filter(|(_, names)| !names.is_empty());
    let said: Vec<String> = said.map(|(effect, names)| format!("{effect}: {}", names.join(", "))).collect();
    if said.is_empty() { "as the tools say".into() } else { said.join("; ") }
}

/// Which calls of a kind wait for approval.
fn approval(kind: &Kind) -> String {
    let rules: Vec<String> = kind.approval.iter().map(ToString::to_string).collect();
    if rules.is_empty() { "never needed".into() } else { rules.join("; ") }
}

/// What happens to a call that may have taken effect.
fn in_doubt(kind: &Kind) -> String {
    match kind.in_doubt.answer_seconds.or(kind.limits.answer_seconds) {
        Some(seconds) => {
            format!("a person is asked; {} after {seconds} s", kind.in_doubt.otherwise.in_words())
        }
        None => format!(
            "a person is asked; {} only after a deadline, and none is set",
            kind.in_doubt.otherwise.in_words()
        ),
    }
}

/// Which of its messages are its answer, and whether a run ends with other messages too.
fn reply(kind: &Kind) -> String {
    let ends = if kind.conversational { "; a run ends after it sends the user a message" } else { "" };
    format!("{}{ends}", kind.reply)
}

/// The guardrails of a kind.
fn guardrails(kind: &Kind) -> String {
    let guardrails = &kind.guardrails;
    let lists =
        [("input", &guardrails.input), ("parallel", &guardrails.parallel), ("output", &guardrails.output)];
    let named = lists.iter().filter(|(_, names)| !names.is_empty());
    let mut named: Vec<String> = named.map(|(side, names)| format!("{side}: {}", names.join(", "))).collect();
    if guardrails.min_calls > 0 {
        named.push(format!("answers after {} calls", guardrails.min_calls));
    }
    match (named.is_empty(), guardrails.output.is_empty() && guardrails.min_calls == 0) {
        (true, _) => "none".into(),
        (false, true) => named.join("; "),
        (false, false) => format!("{}, {} more attempts", named.join("; "), guardrails.attempts),
    }
}

/// What its model sees besides its instructions, and for how long.
fn context(kind: &Kind) -> String {
    let context = &kind.context;
    let section = |section: &Section| match section {
        Section::Time => format!("{section} (again after {} minutes)", context.time_minutes),
        _ => section.to_string(),
    };
    let sections: Vec<String> = context.sections.iter().map(section).collect();
    let sections = if sections.is_empty() { "no sections".into() } else { sections.join(", ") };
    let sessions = match context.sessions {
        Sessions::Kept => "sessions are kept".into(),
        Sessions::Idle => format!("sessions end after {} idle minutes", context.idle_minutes()),
    };
    let share = context.compact_at * 100.0;
    let messages = context.messages.map_or_else(|| "all messages".into(), |most| format!("{most} messages"));
    format!(
        "{sections}; {messages}; {sessions}; {} summaries; summed up from {share:.0} % of the window on",
        context.summaries()
    )
}
