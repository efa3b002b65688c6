//! A tree: each agent with its state, why it does not go on, and what it and all below it cost.

use askama::Template;
use axum::Json;
use entourage_api::{Agent, ListQuestions, Node, Question, ShowTree, ShownTree, Tally, Tree};
use entourage_types::{AgentId, Cost, QuestionId, QuestionStatus, ShownStatus};
use serde::Deserialize;

use super::{
    act::Acts,
    filters, past,
    shell::{Page, Section, Shown, Shows, View},
};
use crate::{
    Problem,
    extract::{Filter, Id},
    routes::v1::{agents, questions},
};

/// For how many agents that wait the last cause is looked for.
const EXPLAINED: usize = 50;
/// How many agents are shown.
const SHOWN: usize = 500;

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
}

/// An agent in its place.
struct Row {
    agent: Agent,
    level: usize,
    own: Tally,
    /// What it and all below it have used.
    all: Tally,
    below: usize,
    questions: usize,
    /// The first of them.
    question: Option<QuestionId>,
    why: Option<String>,
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
#[serde(deny_unknown_fields)]
pub(super) struct At {
    /// After which event; as it is now without it.
    at: Option<u64>,
}

pub(super) async fn show(view: View, Id(id): Id<AgentId>, Filter(At { at }): Filter<At>) -> Shown {
    if let Some(at) = at {
        return past::show(view, id, at).await;
    }
    let caller = &view.caller;
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
    let waits = |row: &&mut Row| matches!(row.agent.status, ShownStatus::Waiting | ShownStatus::Failed);
    for row in rows.iter_mut().filter(waits).take(EXPLAINED) {
        let Json(why) = agents::why(caller.clone(), Id(row.agent.id)).await?;
        row.why = Some(why.text);
    }
    view.show(&Shape {
        root: id,
        title,
        rows,
        agents: count,
        cost: total.cost,
        unpriced: total.unpriced,
        hidden,
    })
}

/// Adds an agent and all below it, and returns their number and what they used. What failed, waits or works comes first.
fn add(node: Node, level: usize, asked: &[Question], rows: &mut Vec<Row>) -> (usize, Tally) {
    let Node { agent, used, mut children } = node;
    children.sort_by_key(|child| urgency(child.agent.status));
    let at = rows.len();
    let own = || asked.iter().filter(|question| question.agent == agent.id);
    let (questions, question) = (own().count(), own().next().map(|question| question.id));
    rows.push(Row { agent, level, own: used, all: used, below: 0, questions, question, why: None });
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

fn urgency(status: ShownStatus) -> u8 {
    match status {
        ShownStatus::Failed => 0,
        ShownStatus::Waiting => 1,
        ShownStatus::Running | ShownStatus::Queued => 2,
        ShownStatus::Idle | ShownStatus::Stopped => 3,
        ShownStatus::Succeeded | ShownStatus::Cancelled => 4,
    }
}
