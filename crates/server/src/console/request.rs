//! What a model saw in one call, what of that it had seen in the call before, and where that broke off.

use askama::Template;
use axum::Json;
use entourage_api::{Agent, ModelMessage, ModelRequest, PageQuery, PrefixBreak, Step};
use entourage_types::{StepKey, Time};
use serde::Deserialize;

use super::{
    filters,
    given::count,
    named::tree_of,
    shell::{Page, Section, Shown, Shows, View},
};
use crate::{
    extract::{Filter, Id, Names},
    routes::v1::{agents, runs},
};

/// Among how many steps of the run that of the call is looked for.
const STEPS: u32 = 200;
/// How many calls before this one, and after it, it can be compared with by a choice.
const OTHERS: u32 = 100;

#[derive(Template)]
#[template(path = "request.html")]
struct Seen {
    run: String,
    number: u32,
    /// How many calls the run has made.
    calls: u32,
    /// The call that it is compared with, if that is not the one before.
    with: Option<u32>,
    is_compared: bool,
    /// The call that it is compared with went on where this one ends.
    is_beginning: bool,
    /// What its tree is called, if the agent is not its root.
    root: Option<String>,
    /// The step that made the call.
    step: Option<Step>,
    agent: Agent,
    request: ModelRequest,
    blocks: Vec<Block>,
    /// Why the model could not go on where it was, and at which byte.
    broken: Option<String>,
}

/// A part of the request, in the order in which the model reads it.
struct Block {
    id: String,
    role: &'static str,
    text: String,
    /// It was the same in the call that this one is compared with.
    was_there: bool,
}

/// How long a model took, in microseconds.
struct Times {
    /// Until its first token.
    thinking: u64,
    /// From then on.
    writing: u64,
}

impl Seen {
    /// What the call is compared with.
    fn other(&self) -> String {
        self.with.map_or_else(|| "the call before".to_owned(), |with| format!("call {with}"))
    }

    /// Whether it is compared with itself.
    fn is_with_itself(&self) -> bool {
        self.with == Some(self.number)
    }

    /// The query with which another call is compared with the same one, unless that is the other one itself.
    fn kept(&self, number: u32) -> String {
        let with = self.with.filter(|with| *with != number);
        with.map_or_else(String::new, |with| format!("?with={with}"))
    }

    /// Whether it is compared with this call.
    fn is_with(&self, other: &u32) -> bool {
        self.with == Some(*other)
    }

    /// The calls that it can be compared with, those near to it where there are many.
    fn others(&self) -> impl Iterator<Item = u32> {
        let first = self.number.saturating_sub(OTHERS).max(1);
        (first..=self.calls.min(self.number.saturating_add(OTHERS))).filter(|other| *other != self.number)
    }

    /// How long the call took, if that is on record.
    fn times(&self) -> Option<Times> {
        let step = self.step.as_ref()?;
        let asked = step.asked.as_ref()?;
        let first = asked.first_token?;
        let micros =
            |from: Time, until: Time| u64::try_from(until.since(from).as_micros()).unwrap_or(u64::MAX);
        Some(Times { thinking: micros(asked.at, first), writing: micros(first, step.updated) })
    }
}

impl Page for Seen {
    const SECTION: Section = Section::Trees;

    fn title(&self) -> String {
        format!("Request {}", self.number)
    }

    fn shows(&self) -> Shows {
        Shows::Tree(self.agent.root)
    }
}

#[derive(Deserialize)]
pub(super) struct With {
    /// The call of the same run that it is compared with; the one before without it.
    with: Option<String>,
}

pub(super) async fn show(
    view: View,
    Names(run, number): Names,
    Filter(With { with }): Filter<With>,
) -> Shown {
    let caller = &view.caller;
    let Json(request) = runs::request(caller.clone(), Names(run.clone(), number.clone())).await?;
    let Json(agent) = agents::get(caller.clone(), Id(request.agent)).await?;
    let Json(of) = runs::get(caller.clone(), Id(request.run)).await?;
    let steps = PageQuery { limit: Some(STEPS), cursor: None };
    let Json(steps) = runs::steps(caller.clone(), Id(request.run), Filter(steps)).await?;
    let key = request.number.map(StepKey::Model);
    let step = steps.data.into_iter().find(|step| Some(&step.key) == key.as_ref());
    let mut blocks = blocks(&request);
    let mut broken = None;
    let with: Option<u32> = count("with", with)?;
    let before = request.before.as_ref();
    let compared = match with {
        Some(with) => Some((Names(run.clone(), with.to_string()), None)),
        None => {
            before.map(|before| (Names(before.run.to_string(), before.number.to_string()), before.broken))
        }
    };
    let is_compared = compared.is_some();
    let mut is_beginning = false;
    if let Some((names, reason)) = compared {
        let Json(earlier) = runs::request(caller.clone(), names).await?;
        let earlier = self::blocks(&earlier);
        let same = blocks.iter().zip(&earlier).take_while(|(now, then)| now.text == then.text).count();
        blocks.iter_mut().take(same).for_each(|block| block.was_there = true);
        is_beginning = reason.is_none() && same == blocks.len() && same < earlier.len();
        if same < earlier.len() && !is_beginning {
            let at: usize = blocks[..same].iter().map(|block| block.text.len()).sum();
            let within = match (blocks.get(same), earlier.get(same)) {
                (Some(now), Some(then)) => common(&now.text, &then.text),
                _ => 0,
            };
            broken = Some(format!("at byte {}: {}", at + within, why(reason)));
        }
    }
    let number = request.number.unwrap_or_default();
    let root = tree_of(caller, &agent).await;
    view.show(Seen {
        run,
        number,
        calls: of.model_calls,
        with,
        is_compared,
        is_beginning,
        root,
        step,
        agent,
        request,
        blocks,
        broken,
    })
    .await
}

fn why(broken: Option<PrefixBreak>) -> &'static str {
    match broken {
        Some(PrefixBreak::Model) => "another model was asked",
        Some(PrefixBreak::Kind) => "the agent has another version of its kind",
        Some(PrefixBreak::Tools) => "other tools were offered",
        Some(PrefixBreak::Digest) => "what came before was summed up",
        Some(PrefixBreak::Window) => "the oldest messages are left out",
        None => "what was sent differs",
    }
}

/// How many bytes two texts have in common at their beginning.
fn common(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count()
}

fn blocks(request: &ModelRequest) -> Vec<Block> {
    let block = |role, text: String| Block { id: String::new(), role, text, was_there: false };
    let tools = request.tools.iter().map(|tool| {
        format!("{}: {}\n{}", tool.name, tool.description, filters::pretty_json(&tool.parameters))
    });
    let mut all = vec![block("system", request.system.clone())];
    all.extend(tools.map(|tool| block("tool", tool)));
    all.extend(request.messages.iter().map(|message| match message {
        ModelMessage::User { text } => block("user", text.clone()),
        ModelMessage::Notice { text } => block("notice", text.clone()),
        ModelMessage::Context { text } => block("context", text.clone()),
        ModelMessage::Assistant { text, calls } => {
            let calls = calls.iter().map(|call| format!("{}({})", call.tool, call.arguments));
            let parts: Vec<String> =
                Some(text.clone()).into_iter().filter(|text| !text.is_empty()).chain(calls).collect();
            block("assistant", parts.join("\n"))
        }
        ModelMessage::Output { tool, text, .. } => block("output", format!("{tool}: {text}")),
    }));
    for (number, block) in all.iter_mut().enumerate() {
        block.id = format!("b{number}");
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_byte_at_which_two_texts_part_is_found() {
        for (one, other, bytes) in
            [("", "a", 0), ("same", "same", 4), ("same and", "same or", 5), ("ä", "ö", 1)]
        {
            assert_eq!(common(one, other), bytes);
        }
    }
}
