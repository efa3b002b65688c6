//! Tasks of all goals and trees: what agents gave others to do, and what that came to.

use askama::Template;
use axum::Json;
use entourage_api::{ListTasks, Task, TaskResult};
use entourage_types::{AgentId, Status};
use serde::Deserialize;

use super::{
    filters,
    given::condition,
    named::Names,
    shell::{Page, Section, Shown, View},
};
use crate::{extract::Filter, routes::v1::work};

#[derive(Deserialize)]
pub(super) struct Wanted {
    root: Option<String>,
    status: Option<String>,
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "tasks.html")]
struct Tasks {
    tasks: Vec<Task>,
    names: Names,
    root: Option<AgentId>,
    status: Option<Status>,
    next: Option<String>,
}

impl Tasks {
    /// The statuses in which a task can be.
    #[allow(clippy::unused_self, reason = "templates call methods of their page")]
    fn statuses(&self) -> [Status; 4] {
        [Status::Queued, Status::Succeeded, Status::Failed, Status::Cancelled]
    }

    /// The query that leads to the next page.
    fn next_query(&self) -> Option<String> {
        let more = [
            ("root", self.root.map(|root| root.to_string())),
            ("status", self.status.map(|status| status.to_string())),
        ];
        self.next.as_ref().map(|cursor| filters::query("cursor", cursor, more))
    }
}

impl Page for Tasks {
    const SECTION: Section = Section::Goals;

    fn title(&self) -> String {
        "Tasks".to_owned()
    }
}

pub(super) async fn show(view: View, Filter(Wanted { root, status, cursor }): Filter<Wanted>) -> Shown {
    let (root, status) = (condition::<AgentId>("root", root)?, condition::<Status>("status", status)?);
    let wanted = ListTasks { root, status, limit: None, cursor };
    let Json(page) = work::tasks(view.caller.clone(), Filter(wanted)).await?;
    let open = page.data.iter().filter(|task| task.status == Status::Queued).map(|task| task.to);
    let named = page.data.iter().flat_map(|task| [task.from, task.root]).chain(open).chain(root);
    let named: Vec<AgentId> = named.collect();
    let names = Names::of(&view.caller, &named).await;
    view.show(Tasks { tasks: page.data, names, root, status, next: page.next_cursor }).await
}
