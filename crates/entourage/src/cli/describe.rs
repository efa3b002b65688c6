//! Describes things in one line.

use std::time::Duration;

use entourage_api::{
    Agent, Author, ContextEntry, Event, EventBody, ItemBody, Question, TaskResult, ToolCall,
};
use entourage_types::{
    AgentId, BudgetAction, Cost, OnEnd, ShownStatus, StepStatus, StopReason, Time, Usage, WaitingOn,
};
use jiff::{Timestamp, tz::TimeZone};
use serde_json::{Value, json};

use super::{budget, paint::Paint, text::Text};

/// How much of a text a line shows, in characters.
const SHORT: usize = 100;
/// How much of what the engine tells a line shows: all of it, unless it quotes a long error.
pub(crate) const LONGEST_TEXT: usize = 400;
/// How much of a name is shown, in characters.
const NAME: usize = 60;
/// How much of a title is shown in a list with other columns after it.
const TITLE: usize = 40;
/// The arguments that say most about a call; the first that is present is shown.
const TELLING: [&str; 8] = ["recipient", "kind", "path", "url", "query", "title", "question", "seconds"];

/// What an agent or a run is that is stored as running, while no process works on it.
pub(crate) const SUSPENDED: &str = "suspended";

/// What an agent does whose next model call has no room in a budget.
pub(crate) const WAITS_FOR_BUDGET: &str = "waits for a budget";

/// The sign of a status.
pub(crate) const fn sign(status: ShownStatus) -> &'static str {
    match status {
        ShownStatus::Succeeded => "✓",
        ShownStatus::Failed => "✗",
        ShownStatus::Stopped | ShownStatus::Cancelled => "⊘",
        ShownStatus::Waiting => "◌",
        ShownStatus::Running | ShownStatus::Queued => "●",
        ShownStatus::Idle => "·",
    }
}

/// Describes a status, with what the agent waits on.
pub(crate) fn status(status: ShownStatus, on: Option<WaitingOn>) -> String {
    match on.filter(|_| status == ShownStatus::Waiting) {
        Some(WaitingOn::User) => "waits for an answer".into(),
        Some(WaitingOn::Agent) => "waits for another agent".into(),
        Some(WaitingOn::Timer) => "sleeps".into(),
        Some(WaitingOn::Retry) => "waits to try again".into(),
        Some(WaitingOn::Resume) => "paused".into(),
        None => status.to_string(),
    }
}

/// The state of an agent: its sign, and its status as text. An agent that is stored as running is suspended
/// if no process `is_at_work` on its tree.
pub(crate) fn standing(agent: &Agent, is_at_work: bool, paint: Paint) -> (Text, Text) {
    let shown = if is_suspended(agent.status, is_at_work) { ShownStatus::Waiting } else { agent.status };
    (paint.status(shown, sign(shown)), paint.status(shown, stands(agent, is_at_work)))
}

/// The state of an agent as text alone, for exports.
pub(crate) fn stands(agent: &Agent, is_at_work: bool) -> String {
    match agent.status {
        shown if is_suspended(shown, is_at_work) => SUSPENDED.into(),
        shown => status(shown, agent.waiting_on),
    }
}

fn is_suspended(shown: ShownStatus, is_at_work: bool) -> bool {
    matches!(shown, ShownStatus::Queued | ShownStatus::Running) && !is_at_work
}

/// A text on one line, cut.
pub(crate) fn short(text: &str) -> String {
    cut(text, SHORT)
}

/// A text on one line, with at most this many characters.
pub(crate) fn cut(text: &str, most: usize) -> String {
    // Other separators are not blanks: the filter of the output shows them as codes.
    let line = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// An agent's id, with the name that its caller gave it.
pub(crate) fn called(agent: &Agent) -> String {
    match &agent.name {
        Some(given) => format!("{} ({})", agent.id, name(given)),
        None => agent.id.to_string(),
    }
}

/// A name on one line: a model, or the sender of a trigger, may have made it up.
pub(crate) fn name(text: &str) -> String {
    cut(text, NAME)
}

/// A title in a list with other columns after it.
pub(crate) fn title(text: &str) -> String {
    cut(text, TITLE)
}

/// A call with its most telling argument.
pub(crate) fn call(call: &ToolCall) -> String {
    let telling = TELLING.iter().find_map(|telling| call.arguments.get(telling));
    let first = || {
        call.arguments.as_object().and_then(|arguments| arguments.values().find(|value| value.is_string()))
    };
    match telling.or_else(first) {
        Some(Value::String(text)) => format!("{} {}", name(&call.tool), cut(text, 60)),
        Some(Value::Number(number)) => format!("{} {number}", name(&call.tool)),
        _ => name(&call.tool),
    }
}

/// Tokens and money.
pub(crate) fn spent(usage: Usage, cost: Cost) -> String {
    let tokens = thousands(usage.input + usage.output);
    if cost == Cost::default() { format!("{tokens} tokens") } else { format!("{tokens} tokens · {cost}") }
}

/// A number with separated thousands.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A moment by the clock of this machine, to the minute, and how far that clock is from UTC.
pub(crate) fn moment(at: Time) -> String {
    let at = Timestamp::from_microsecond(at.micros()).unwrap_or_default();
    at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M %:z").to_string()
}

/// A duration as people write it.
pub(crate) fn duration(duration: Duration) -> String {
    match duration.as_secs() {
        0..60 => format!("{:.1} s", duration.as_secs_f64()),
        seconds @ 60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// When something is tried again, and why.
pub(crate) fn again(left: Duration, error: &str) -> String {
    let left = match left.as_millis().div_ceil(1000) {
        0 => "trying again now".into(),
        seconds @ 1..60 => format!("trying again in {seconds} s"),
        _ => format!("trying again in {}", duration(left)),
    };
    if error.is_empty() { left } else { format!("{left} ({})", cut(error, LONGEST_TEXT)) }
}

/// What a notice is about.
pub(crate) fn notice(code: &str, reason: Option<StopReason>) -> String {
    reason.map_or_else(|| code.to_owned(), |reason| format!("{code}, {reason}"))
}

/// How long a question can be answered, and what is done then.
pub(crate) fn limit(question: &Question) -> Option<String> {
    let left = question.due?.since(Time::now());
    let then = question.otherwise.map(|verdict| format!(", then: {}", verdict.in_words()));
    Some(format!("open for {}{}", duration(left), then.unwrap_or_default()))
}

/// Describes an event, without its agent and time; none if it is of no interest to a user.
pub(crate) fn event(event: &Event) -> Option<String> {
    Some(match &event.body {
        // What was forgotten has no texts.
        EventBody::AgentCreated { title, .. } => said("begins", title),
        EventBody::AgentStatus { status: ShownStatus::Running | ShownStatus::Queued, .. } => return None,
        EventBody::AgentStatus { status: now, waiting_on, .. } => status(*now, *waiting_on),
        EventBody::Run { stop_reason: Some(StopReason::Cancelled), .. } => return None,
        EventBody::Run { error: Some(error), .. } => format!("failed: {}", short(error)),
        // The end of others is read by the agent that gave them, which an event of its own shows.
        EventBody::Task { task } if task.on_end == OnEnd::Quiet && task.status.is_terminal() => {
            let came_to = task.result.as_ref().map_or("", |result| match result {
                TaskResult::Text(text) | TaskResult::Error(text) => text,
            });
            said(&format!("“{}” {}", name(&task.title), task.status), came_to)
        }
        EventBody::Run { .. } | EventBody::Task { .. } => return None,
        EventBody::Step { due: Some(due), error, .. } => {
            again(due.since(event.at), error.as_deref().unwrap_or_default())
        }
        EventBody::Step { key, state: StepStatus::Retry, .. } => format!("{key} failed and is tried again"),
        EventBody::Step { .. } => return None,
        EventBody::Item { item, .. } => body(&item.as_ref()?.body)?,
        EventBody::Record { kind, id, status, .. } => format!("{kind} {id}: {status}"),
        EventBody::Session { session } => {
            said(&format!("session {} closed ({})", session.number, session.reason), &session.summary)
        }
        EventBody::Intervention { intervention } => {
            let text =
                intervention.text.as_deref().map(|text| format!(": {}", short(text))).unwrap_or_default();
            format!("{} {}{text}", intervention.action, intervention.status)
        }
        EventBody::Grant { grant } => {
            format!("grant {} {}: {}, exempt from rule: {}", grant.id, grant.status, grant.tool, grant.rule)
        }
        EventBody::Budget { by, action, amount } => {
            let what = match action {
                BudgetAction::Grant => "granted to the tree",
                BudgetAction::TakeBack => "taken back of what was granted to the tree",
            };
            format!("{} {what} by {}", budget::granted(*amount), name(by.as_str()))
        }
        EventBody::Question { question } => {
            let (id, status) = (question.id, question.status);
            said(&format!("question {id} {status}"), question.answer.as_deref().unwrap_or(&question.text))
        }
    })
}

/// What happened and what was said, if anything was.
fn said(what: &str, text: &str) -> String {
    if text.is_empty() { what.to_owned() } else { format!("{what}: {}", short(text)) }
}

fn body(body: &ItemBody) -> Option<String> {
    Some(match body {
        ItemBody::Message { from, text, .. } => format!("reads from {}: {}", name(author(from)), short(text)),
        ItemBody::Turn { text, calls, .. } if calls.is_empty() => format!("says: {}", short(text)),
        ItemBody::Turn { calls, .. } => {
            format!("calls {}", calls.iter().map(call).collect::<Vec<_>>().join(", "))
        }
        ItemBody::Output { tool, text, error, .. } => {
            let how = if *error { "failed" } else { "returned" };
            format!("{} {how}: {}", name(tool), short(text))
        }
        ItemBody::SubCalls { calls, .. } => {
            format!("code calls {}", calls.iter().map(call).collect::<Vec<_>>().join(", "))
        }
        ItemBody::SubOutput { tool, text, error, .. } => {
            let how = if *error { "failed" } else { "returned" };
            format!("{} {how} to the code: {}", name(tool), short(text))
        }
        ItemBody::Decision { name: of, value, why, .. } => {
            format!("decides {}: {}", name(of), short(&decision(value.as_ref(), why.as_deref())))
        }
        ItemBody::Notice { text, .. } => cut(text, LONGEST_TEXT),
        ItemBody::Digest { from, .. } => format!("sums up what is older than item {from}"),
        ItemBody::Context { entries } => format!("context: {}", short(&context(entries, ", "))),
    })
}

/// What a model reads beside the conversation.
pub(crate) fn context(entries: &[ContextEntry], between: &str) -> String {
    entries.iter().map(|entry| entry.text.as_str()).collect::<Vec<_>>().join(between)
}

/// Who wrote something.
pub(crate) fn author(author: &Author) -> &str {
    match author {
        Author::User => "user",
        Author::Agent { kind, .. } => kind,
        Author::Trigger { name, .. } => name,
    }
}

/// Arguments, or another value, in a form that people read, and in which a text is one line.
pub(crate) fn arguments(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}

/// Arguments with a text of several lines as lines, which are indented so that none passes for the next argument.
pub(crate) fn arguments_in_lines(value: &Value) -> String {
    let lines = |value: &Value| match value.as_str() {
        Some(text) if text.contains('\n') => {
            Some(text.lines().map(|line| format!("\n    {line}")).collect::<String>())
        }
        _ => None,
    };
    match value.as_object() {
        Some(entries) if entries.values().any(|value| lines(value).is_some()) => {
            let entry = |(name, value): (&String, &Value)| match lines(value) {
                Some(lines) => format!("{}:{lines}", json!(name)),
                None => format!("{}: {value}", json!(name)),
            };
            entries.iter().map(entry).collect::<Vec<_>>().join("\n")
        }
        _ => arguments(value),
    }
}

/// A decision, or why there is none.
pub(crate) fn decision(value: Option<&Value>, why: Option<&str>) -> String {
    match (value, why) {
        (Some(value), _) => arguments(value),
        (None, Some(why)) => format!("no decision: {why}"),
        (None, None) => "nothing".to_owned(),
    }
}

/// Agents with the lines that show their place in the tree, parents before children.
pub(crate) fn branches<T>(agents: &[T], id: impl Fn(&T) -> (AgentId, Option<AgentId>)) -> Vec<(String, &T)> {
    fn below<'a, T>(
        agents: &'a [T],
        id: &impl Fn(&T) -> (AgentId, Option<AgentId>),
        parent: AgentId,
        lead: &str,
        lines: &mut Vec<(String, &'a T)>,
    ) {
        let children: Vec<&T> = agents.iter().filter(|agent| id(agent).1 == Some(parent)).collect();
        for (index, child) in children.iter().enumerate() {
            let is_last = index + 1 == children.len();
            let (branch, trunk) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            lines.push((format!("{lead}{branch}"), child));
            below(agents, id, id(child).0, &format!("{lead}{trunk}"), lines);
        }
    }
    let mut lines = Vec::with_capacity(agents.len());
    for root in agents.iter().filter(|agent| id(agent).1.is_none()) {
        lines.push((String::new(), root));
        below(agents, &id, id(root).0, "", &mut lines);
    }
    lines
}

/// An agent's place, for [`branches`].
pub(crate) fn place(agent: &Agent) -> (AgentId, Option<AgentId>) {
    (agent.id, agent.parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_several_lines_is_shown_as_lines_that_pass_for_no_argument() {
        let code = json!({ "code": "a = 1\n\"to\": \"you\"\n", "n": 1, "of": [{ "x": 2 }] });
        let shown = "\"code\":\n    a = 1\n    \"to\": \"you\"\n\"n\": 1\n\"of\": [{\"x\":2}]";
        assert_eq!(arguments_in_lines(&code), shown);
        assert_eq!(arguments_in_lines(&json!({ "n": 1 })), "{\n  \"n\": 1\n}");
    }
}
