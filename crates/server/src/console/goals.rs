//! Goals: what is to be achieved, and what came of it.

use askama::Template;
use axum::Json;
use entourage_api::{ChangeGoal, CreateGoal, Goal, ListGoals, PageQuery, Task, TaskResult};
use entourage_types::{AgentId, GoalStatus, ShownStatus};
use serde::Deserialize;

use super::{
    act::{led, unchanged},
    filters,
    given::{lines, some, written},
    place::Onwards,
    shell::{Fields, Page, Section, Shown, Shows, View, new_key},
};
use crate::{
    extract::{Body, Filter, Id, IdempotencyKey, NoParameters},
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

    fn below(&self, _: &View) -> askama::Result<String> {
        NewGoal { key: new_key() }.render()
    }
}

/// The form of a new goal.
#[derive(Template)]
#[template(path = "new_goal.html")]
struct NewGoal {
    key: String,
}

/// What the form of a new goal sends.
#[derive(Deserialize)]
pub(super) struct New {
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    instructions: String,
    #[serde(default)]
    key: String,
}

/// Creates a goal, and leads to it.
pub(super) async fn create(view: View, Fields(new): Fields<New>) -> Shown {
    let New { title, description, instructions, key } = new;
    let new = CreateGoal { title, description: lines(&description), instructions: lines(&instructions) };
    let goal = goals::created(&view.caller, &IdempotencyKey::of_form(key)?, new).await?;
    Ok(led(&view, &format!("/console/goals/{}", goal.agent)))
}

/// What the form of a goal's page changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Act {
    /// What it says.
    #[default]
    Change,
    /// It is put away.
    Archive,
    /// It is taken up again.
    Open,
}

/// What that form sends.
#[derive(Deserialize)]
pub(super) struct Changed {
    #[serde(default)]
    act: Act,
    title: Option<String>,
    description: Option<String>,
    instructions: Option<String>,
    was_title: Option<String>,
    was_description: Option<String>,
    was_instructions: Option<String>,
}

/// Changes a goal, puts it away, or takes it up again.
pub(super) async fn change(view: View, Id(id): Id<AgentId>, Fields(form): Fields<Changed>) -> Shown {
    let none = ChangeGoal { title: None, description: None, instructions: None, status: None };
    let change = match form.act {
        Act::Change => {
            let Json(goal) = goals::get(view.caller.clone(), Id(id), Filter(NoParameters {})).await?;
            let title = written("title", form.title, form.was_title, &goal.title)?;
            let description =
                written("description", form.description, form.was_description, &goal.description)?;
            let instructions =
                written("instructions", form.instructions, form.was_instructions, &goal.instructions)?;
            if title.is_none() && description.is_none() && instructions.is_none() {
                return Ok(unchanged(&view, &format!("/console/goals/{id}")));
            }
            ChangeGoal { title, description, instructions, ..none }
        }
        Act::Archive => ChangeGoal { status: Some(GoalStatus::Archived), ..none },
        Act::Open => ChangeGoal { status: Some(GoalStatus::Open), ..none },
    };
    let _ = goals::change(view.caller.clone(), Id(id), Body(change)).await?;
    Ok(led(&view, &format!("/console/goals/{id}")))
}

/// Deletes a goal, and leads to those that are left.
pub(super) async fn delete(view: View, Id(id): Id<AgentId>) -> Shown {
    let _ = goals::delete(view.caller.clone(), Id(id)).await?;
    Ok(led(&view, "/console/goals"))
}

/// Which goals are listed.
#[derive(Deserialize)]
pub(super) struct Wanted {
    text: Option<String>,
    cursor: Option<String>,
}

pub(super) async fn all(view: View, Filter(Wanted { text, cursor }): Filter<Wanted>) -> Shown {
    let text = text.unwrap_or_default();
    let query = ListGoals { text: some(text.clone()), cursor, ..ListGoals::default() };
    let Json(page) = goals::list(view.caller.clone(), Filter(query)).await?;
    view.show(Goals { goals: page.data, text, next: page.next_cursor }).await
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

    fn below(&self, _: &View) -> askama::Result<String> {
        EditGoal { goal: &self.goal }.render()
    }
}

/// The forms that change a goal.
#[derive(Template)]
#[template(path = "edit_goal.html")]
struct EditGoal<'a> {
    goal: &'a Goal,
}

pub(super) async fn one(
    view: View,
    Id(id): Id<AgentId>,
    Filter(Onwards { cursor }): Filter<Onwards>,
) -> Shown {
    let query = PageQuery { cursor, ..PageQuery::default() };
    let caller = &view.caller;
    let Json(goal) = goals::get(caller.clone(), Id(id), Filter(NoParameters {})).await?;
    let Json(agent) = agents::get(caller.clone(), Id(id)).await?;
    let Json(page) = goals::tasks(caller.clone(), Id(id), Filter(query)).await?;
    view.show(OneGoal {
        status: agent.status,
        root: agent.root,
        goal,
        tasks: page.data,
        next: page.next_cursor,
    })
    .await
}
