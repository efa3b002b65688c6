//! Goals: what is to be achieved, and what came of it.

use askama::Template;
use axum::Json;
use entourage_api::{Goal, ListGoals, PageQuery, Task, TaskResult};
use entourage_types::{AgentId, GoalStatus, ShownStatus};

use super::{
    filters,
    shell::{Page, Section, Shown, Shows, View},
};
use crate::{
    extract::{Filter, Id, NoParameters},
    routes::v1::{agents, goals},
};

#[derive(Template)]
#[template(path = "goals.html")]
struct Goals {
    goals: Vec<Goal>,
    text: String,
    next: Option<String>,
}

impl Page for Goals {
    const SECTION: Section = Section::Goals;

    fn title(&self) -> String {
        "Goals".to_owned()
    }
}

pub(super) async fn all(view: View, Filter(query): Filter<ListGoals>) -> Shown {
    let text = query.text.clone().unwrap_or_default();
    let query = ListGoals { text: query.text.filter(|text| !text.trim().is_empty()), ..query };
    let Json(page) = goals::list(view.caller.clone(), Filter(query)).await?;
    view.show(&Goals { goals: page.data, text, next: page.next_cursor })
}

#[derive(Template)]
#[template(path = "goal.html")]
struct OneGoal {
    goal: Goal,
    status: ShownStatus,
    tasks: Vec<Task>,
    next: Option<String>,
    root: AgentId,
}

impl Page for OneGoal {
    const SECTION: Section = Section::Goals;

    fn title(&self) -> String {
        self.goal.title.clone()
    }

    fn shows(&self) -> Shows {
        Shows::Tree(self.root)
    }
}

pub(super) async fn one(view: View, Id(id): Id<AgentId>, Filter(query): Filter<PageQuery>) -> Shown {
    let caller = &view.caller;
    let Json(goal) = goals::get(caller.clone(), Id(id), Filter(NoParameters {})).await?;
    let Json(agent) = agents::get(caller.clone(), Id(id)).await?;
    let Json(page) = goals::tasks(caller.clone(), Id(id), Filter(query)).await?;
    view.show(&OneGoal {
        status: agent.status,
        root: agent.root,
        goal,
        tasks: page.data,
        next: page.next_cursor,
    })
}
