//! A tree: each agent with its state, why it does not go on, and what it and all below it cost.

use askama::Template;
use axum::Json;
use entourage_api::{Agent, ListQuestions, Node, Question, ShowTree, ShownTree, Tree};
use entourage_types::{AgentId, Cost, QuestionStatus, ShownStatus};
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
    own: Cost,
    /// The cost of it and all below it.
    all: Cost,
    below: usize,
    questions: usize,
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

/// Adds an agent and all below it, and returns their number and their cost. What failed, waits or works comes first.
fn add(node: Node, level: usize, asked: &[Question], rows: &mut Vec<Row>) -> (usize, Cost) {
    let Node { agent, used, mut children } = node;
    children.sort_by_key(|child| urgency(child.agent.status));
    let at = rows.len();
    let questions = asked.iter().filter(|question| question.agent == agent.id).count();
    rows.push(Row { agent, level, own: used.cost, all: used.cost, below: 0, questions, why: None });
    let (mut below, mut all) = (0, used.cost);
    for child in children {
        let (agents, cost) = add(child, level + 1, asked, rows);
        below += agents;
        all = Cost::from_nanos(all.nanos().saturating_add(cost.nanos()));
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
