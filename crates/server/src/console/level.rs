//! One level of a tree that is too large to be shown whole: an agent and its children, each with sums over all below it.

use askama::Template;
use axum::Json;
use entourage_api::{Agent, Child, ListAgents, ListChildren};
use entourage_types::{AgentId, ShownStatus, WaitingOn};

use super::{
    act::Acts,
    budget::{Beside, Lacking},
    filters,
    shell::{Page, Section, Shown, Shows, View},
    tree::{Row, explain, short_of_budget},
};
use crate::{
    Problem,
    extract::{Caller, Filter, Id},
    routes::v1::agents,
    views,
};

/// How many children are on a page.
const SHOWN: u32 = 30;
/// How many agents of the whole tree that need a person are listed first.
const IN_NEED: u32 = 20;
/// How many agents above this one are named.
const NAMED: usize = 20;

/// Which level of a tree is shown.
pub(super) struct Level {
    /// The agent whose children are shown.
    pub(super) of: AgentId,
    pub(super) status: Option<ShownStatus>,
    /// Words in their titles.
    pub(super) text: Option<String>,
    pub(super) cursor: Option<String>,
}

impl Level {
    /// Whether agents of the whole tree are looked for.
    fn is_search(&self) -> bool {
        self.status.is_some() || self.text.is_some()
    }

    /// Whether it is other than the first page of all children of the root.
    pub(super) fn is_narrowed(&self, root: AgentId) -> bool {
        self.of != root || self.is_search() || self.cursor.is_some()
    }
}

#[derive(Template)]
#[template(path = "level.html")]
struct Shape {
    root: AgentId,
    /// From the root to the parent of the agent whose children are shown.
    above: Vec<Agent>,
    rows: Vec<Row>,
    /// Those of the whole tree that wait for a person or have failed, and whether there are more of them.
    in_need: Vec<Row>,
    has_more_in_need: bool,
    /// How many questions of the whole tree are open.
    open_questions: u64,
    lacking: Option<Lacking>,
    /// How many agents are in which status, this one and all below it.
    counted: Vec<(ShownStatus, u64)>,
    level: Level,
    next: Option<String>,
}

impl Shape {
    /// The agent whose children are shown.
    fn node(&self) -> Option<&Row> {
        self.rows.first()
    }

    /// Whether agents of the whole tree were looked for, and not the children of one.
    fn is_search(&self) -> bool {
        self.level.is_search()
    }

    /// The query that leads to the next page.
    fn next_query(&self) -> Option<String> {
        let more = [
            ("of", Some(self.level.of.to_string())),
            ("status", self.level.status.map(|status| status.to_string())),
            ("text", self.level.text.clone()),
        ];
        Some(filters::query("cursor", self.next.as_ref()?, more))
    }
}

impl Page for Shape {
    const SECTION: Section = Section::Trees;

    fn title(&self) -> String {
        self.node().map_or_else(String::new, |Row { agent, .. }| {
            filters::title_of(&agent.title, &agent.kind).to_owned()
        })
    }

    fn shows(&self) -> Shows {
        Shows::Tree(self.root)
    }

    fn below(&self, _: &View) -> askama::Result<String> {
        Acts::of_any().render()
    }
}

/// Shows one level of the tree of this root.
pub(super) async fn show(view: View, root: AgentId, level: Level) -> Shown {
    let caller = &view.caller;
    let Json(agent) = agents::get(caller.clone(), Id(level.of)).await?;
    if agent.root != root {
        return Err(Problem::bad_query("of: this agent belongs to another tree"));
    }
    let above = above(caller, &agent).await?;
    let (found, next) = if level.is_search() {
        let wanted = ListAgents {
            tree: Some(root),
            status: level.status,
            text: level.text.clone(),
            limit: Some(SHOWN),
            cursor: level.cursor.clone(),
            ..ListAgents::default()
        };
        let Json(page) = agents::list(caller.clone(), Filter(wanted)).await?;
        // The first row has this one.
        let found = page.data.into_iter().filter(|agent| agent.id != level.of).collect();
        (with_sums(caller, found).await?, page.next_cursor)
    } else {
        let limit = Some(SHOWN);
        let wanted = ListChildren { limit, cursor: level.cursor.clone(), ..ListChildren::default() };
        let Json(page) = agents::children(caller.clone(), Id(level.of), Filter(wanted)).await?;
        (page.data, page.next_cursor)
    };
    let (mut in_need, has_more_in_need) = in_need(caller, root, &level).await?;
    explain(caller, &mut in_need).await?;
    let mut sums = caller.client.subtrees(&[root, level.of]).await?;
    let open_questions = sums.get(&root).map_or(0, |sums| sums.open_questions);
    let sums = sums.remove(&level.of).unwrap_or_default();
    let counted = ShownStatus::ALL.into_iter().zip(sums.agents).filter(|(_, count)| *count > 0).collect();
    let node = row(Child { agent, subtree: views::subtree(&sums) }, 1);
    let mut rows: Vec<Row> =
        std::iter::once(node).chain(found.into_iter().map(|child| row(child, 2))).collect();
    explain(caller, &mut rows).await?;
    let short = short_of_budget(rows.iter().chain(&in_need));
    let lacking = Lacking::of(caller, short, root, Beside::Trees).await?;
    view.show(Shape {
        root,
        above,
        rows,
        in_need,
        has_more_in_need,
        open_questions,
        lacking,
        counted,
        level,
        next,
    })
    .await
}

/// The agents of the whole tree that wait for a person or have failed, where its first page is shown, and whether there
/// are more of them.
async fn in_need(caller: &Caller, root: AgentId, level: &Level) -> Result<(Vec<Row>, bool), Problem> {
    if level.is_narrowed(root) {
        return Ok((Vec::new(), false));
    }
    let of_tree = ListAgents { tree: Some(root), limit: Some(IN_NEED), ..ListAgents::default() };
    let failed = ListAgents { status: Some(ShownStatus::Failed), ..of_tree.clone() };
    let waiting = ListAgents { waiting_on: Some(WaitingOn::User), ..of_tree };
    let (mut found, mut has_more) = (Vec::new(), false);
    for wanted in [failed, waiting] {
        let Json(page) = agents::list(caller.clone(), Filter(wanted)).await?;
        has_more |= page.next_cursor.is_some();
        found.extend(page.data);
    }
    let most = IN_NEED as usize;
    // Half of them at least are of either sort, where there are as many.
    // Questions first: an answer lets their agents go on at once.
    found.sort_by_key(|agent: &Agent| agent.status == ShownStatus::Failed);
    if found.len() > most {
        has_more = true;
        let waiting = found.iter().filter(|agent| agent.status != ShownStatus::Failed).count();
        let failed = found.len() - waiting;
        let first = waiting.min(most.saturating_sub(failed).max(most / 2));
        found.drain(first..waiting);
        found.truncate(most);
    }
    let rows = with_sums(caller, found).await?.into_iter().map(|child| row(child, 2)).collect();
    Ok((rows, has_more))
}

/// Agents with the sums of all below them.
async fn with_sums(caller: &Caller, agents: Vec<Agent>) -> Result<Vec<Child>, Problem> {
    let ids: Vec<AgentId> = agents.iter().map(|agent| agent.id).collect();
    let mut sums = caller.client.subtrees(&ids).await?;
    let with = |agent: Agent| {
        let subtree = views::subtree(&sums.remove(&agent.id).unwrap_or_default());
        Child { agent, subtree }
    };
    Ok(agents.into_iter().map(with).collect())
}

/// The agents above this one, the root first; of many, those next to it.
async fn above(caller: &Caller, agent: &Agent) -> Result<Vec<Agent>, Problem> {
    let (mut above, mut parent) = (Vec::new(), agent.parent);
    while let Some(id) = parent
        && above.len() < NAMED
    {
        let Json(agent) = agents::get(caller.clone(), Id(id)).await?;
        parent = agent.parent;
        above.push(agent);
    }
    above.reverse();
    Ok(above)
}

/// An agent whose children are folded.
fn row(Child { agent, subtree }: Child, level: usize) -> Row {
    let all: u64 = subtree.agents.values().sum();
    Row {
        agent,
        level,
        own: None,
        all: subtree.used,
        below: all.saturating_sub(1),
        folded: level > 1,
        questions: subtree.open_questions,
        question: None,
        reason: None,
    }
}
