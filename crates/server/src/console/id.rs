//! Leads from any id to the page that shows what it names.

use axum::{Json, response::Redirect};
use entourage_types::{AgentId, QuestionId, RunId, TaskId};

use crate::{
    Problem,
    extract::{Caller, Id},
    routes::v1::work,
};

pub(super) async fn find(caller: Caller, Id(id): Id<String>) -> Result<Redirect, Problem> {
    let page = match id.split_once('_').map_or("", |(noun, _)| noun) {
        "agt" => format!("/console/agents/{}", parsed::<AgentId>(&id)?),
        "qst" => format!("/console/q/{}", parsed::<QuestionId>(&id)?),
        "run" => format!("/console/runs/{}", parsed::<RunId>(&id)?),
        "tsk" => {
            let Json(task) = work::task(caller, Id(parsed::<TaskId>(&id)?)).await?;
            format!("/console/agents/{}", task.to)
        }
        _ => {
            return Err(Problem::not_found(
                "no page shows what has this id; ids of agents, runs and questions lead to theirs",
            ));
        }
    };
    Ok(Redirect::to(&page))
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(id: &str) -> Result<T, Problem> {
    id.parse().map_err(|why: T::Err| Problem::bad_path(why.to_string()))
}
