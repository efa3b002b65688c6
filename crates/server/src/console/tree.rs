//! A tree: each agent with its state, why it does not go on, and what it and all below it cost.

use askama::Template;
use axum::Json;
use entourage_api::{Agent, Cause, ListQuestions, Node, Question, ShowTree, ShownTree, Tally, Tree};
use entourage_types::{AgentId, Cost, QuestionId, QuestionStatus, ShownStatus, Time};
use serde::Deserialize;

use super::{
    act::Acts,
    budget::{Beside, Lacking},
    filters,
    given::{condition, some},
    level::{self, Level},
    past,
    reason::Reason,
    shell::{Page, Section, Shown, Shows, View},
};
use crate::{
    Problem,
    extract::{Caller, Filter, Id},
    routes::v1::{agents, questions},
};

/// For how many agents that wait the last cause is looked for.
const EXPLAINED: usize = 50;
/// How many agents are shown.
const SHOWN: usize = 500;
/// How many agents a tree may have to be shown whole; larger ones are shown a level at a time.
const WHOLE: u64 = 200;

#[derive(Template)]
#[template(path = "tree.html")]
struct Shape {
    root: AgentId,
    title: String,
    rows: Vec<Row>,
    agents: u64,
    cost: Cost,
    /// How many calls of models `cost` leaves out.
    unpriced: u64,
    hidden: usize,
    lacking: Option<Lacking>,
}

/// An agent in its place.
pub(super) struct Row {
    pub(super) agent: Agent,
    pub(super) level: usize,
    /// What it has used itself, where that is known.
    pub(super) own: Option<Tally>,
    /// What it and all below it have used.
    pub(super) all: Tally,
    pub(super) below: u64,
    /// Whether those below it are on a page of their own.
    pub(super) folded: bool,
    pub(super) questions: u64,
    /// The first of them, where it is known.
    pub(super) question: Option<QuestionId>,
    pub(super) reason: Option<Reason>,
}

impl Page for Shape {
    const SECTION: Section = Section::Trees;

    fn title(&self) -> String {
        self.title.clone()
    }

    fn shows(&self) -> Shows {
        Shows::Tree(self.root)
    }

    fn below(&self, _: &View) -> askama::Result<String> {
        Acts::of_any().render()
    }
}

#[derive(Deserialize)]
pub(super) struct Wanted {
    /// After which event; as it is now without it.
    at: Option<u64>,
    /// The agent whose children are shown, and which of them.
    of: Option<String>,
    status: Option<String>,
    text: Option<String>,
    cursor: Option<String>,
}

pub(super) async fn show(view: View, Id(id): Id<AgentId>, Filter(wanted): Filter<Wanted>) -> Shown {
    let Wanted { at, of, status, text, cursor } = wanted;
    if let Some(at) = at {
        return past::show(view, id, at).await;
    }
    let caller = &view.caller;
    let Json(Agent { root, .. }) = agents::get(caller.clone(), Id(id)).await?;
    let level = Level {
        of: condition("of", of)?.unwrap_or(root),
        status: condition("status", status)?,
        text: text.and_then(some),
        cursor,
    };
    let sums = caller.client.subtrees(&[root]).await?.remove(&root).unwrap_or_default();
    if level.is_narrowed(root) || sums.agents.iter().sum::<u64>() > WHOLE {
        return level::show(view, root, level).await;
    }
    let shown = agents::tree(caller.clone(), Id(id), Filter(ShowTree { at: None })).await?;
    let Json(ShownTree::Now(tree)) = shown else {
        return Err(Problem::internal("the tree was shown as it was, and not as it is"));
    };
    let Tree { root, threads, agents: count, total } = *tree;
    let (id, title) = (root.agent.id, filters::title_of(&root.agent.title, &root.agent.kind).to_owned());
    let wanted = ListQuestions {
        status: Some(QuestionStatus::Open),
        root: Some(id),
        limit: Some(200),
        ..ListQuestions::default()
    };
    let Json(asked) = questions::list(caller.clone(), Filter(wanted)).await?;
    let mut rows = Vec::new();
    for node in std::iter::once(root).chain(threads) {
        add(node, 1, &asked.data, &mut rows);
    }
    let hidden = rows.len().saturating_sub(SHOWN);
    rows.truncate(SHOWN);
    explain(caller, &mut rows).await?;
    let lacking = Lacking::of(caller, short_of_budget(&rows), id, Beside::Trees).await?;
    view.show(Shape {
        root: id,
        title,
        rows,
        agents: count,
        cost: total.cost,
        unpriced: total.unpriced,
        hidden,
        lacking,
    })
    .await
}

/// Says of those that wait or failed why they do not go on.
pub(super) async fn explain(caller: &Caller, rows: &mut [Row]) -> Result<(), Problem> {
    let waits = |row: &&mut Row| matches!(row.agent.status, ShownStatus::Waiting | ShownStatus::Failed);
    for row in rows.iter_mut().filter(waits).take(EXPLAINED) {
        row.reason = Some(Reason::of_any(caller, row.agent.id).await?);
    }
    Ok(())
}

/// Why one of these waits for more budget, if one does.
pub(super) fn short_of_budget<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Option<&'r Reason> {
    let mut reasons = rows.into_iter().filter_map(|row| row.reason.as_ref());
    reasons.find(|reason| matches!(reason.last(), Cause::Budget { .. }))
}

impl Row {
    /// The first question of the agent, where it is known.
    pub(super) fn first_question(&self) -> Option<QuestionId> {
        let own = self.reason.as_ref().filter(|reason| reason.last_agent() == Some(self.agent.id));
        self.question.or_else(|| own.and_then(Reason::question))
    }

    /// Since when the agent is in its state, where that is known.
    pub(super) fn since(&self) -> Option<Time> {
        self.reason.as_ref().and_then(Reason::since)
    }
}

/// Adds an agent and all below it, and returns their number and what they used. What failed, waits or works comes first.
fn add(node: Node, level: usize, asked: &[Question], rows: &mut Vec<Row>) -> (u64, Tally) {
    let Node { agent, used, mut children } = node;
    children.sort_by_key(|child| urgency(child.agent.status));
    let at = rows.len();
    let own = || asked.iter().filter(|question| question.agent == agent.id);
    let (questions, question) = (own().count() as u64, own().next().map(|question| question.id));
    rows.push(Row {
        agent,
        level,
        own: Some(used),
        all: used,
        below: 0,
        folded: false,
        questions,
        question,
        reason: None,
    });
    let (mut below, mut all) = (0, used);
    for child in children {
        let (agents, spent) = add(child, level + 1, asked, rows);
        below += agents;
        all.calls += spent.calls;
        all.unpriced += spent.unpriced;
        all.usage.input += spent.usage.input;
        all.usage.output += spent.usage.output;
        all.cost = Cost::from_nanos(all.cost.nanos().saturating_add(spent.cost.nanos()));
    }
    (rows[at].below, rows[at].all) = (below, all);
    (below + 1, all)
}

/// The order in which agents are looked at: what failed, waits or works comes first.
pub(super) fn urgency(status: ShownStatus) -> u8 {
    match status {
        ShownStatus::Failed => 0,
        ShownStatus::Waiting => 1,
        ShownStatus::Running | ShownStatus::Queued => 2,
        ShownStatus::Idle | ShownStatus::Stopped => 3,
        ShownStatus::Succeeded | ShownStatus::Cancelled => 4,
    }
}
