//! The server, for its operator: whether it is well, what it is set to, and what receivers of webhooks were told.

use askama::Template;
use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Redirect},
};
use entourage_api::{HeldSettings, Job, Receiver, Server, SetBy};

use super::{
    filters,
    shell::{Page, Section, Shown, Shows, View},
};
use crate::{
    extract::Id,
    routes::v1::{jobs, server, webhooks},
    state::AppState,
};

#[derive(Template)]
#[template(path = "server.html")]
struct Health {
    server: Server,
    jobs: Vec<Job>,
    receivers: Vec<Receiver>,
}

impl Page for Health {
    const SECTION: Section = Section::Server;

    fn title(&self) -> String {
        "Server".to_owned()
    }
}

pub(super) async fn health(view: View) -> Shown {
    let caller = &view.caller;
    let Json(server) = server::server(caller.clone()).await?;
    let Json(jobs) = jobs::list(caller.clone()).await?;
    let Json(receivers) = webhooks::list(caller.clone()).await?;
    view.show(&Health { server, jobs: jobs.data, receivers: receivers.data })
}

/// Runs a job of maintenance now.
pub(super) async fn run_job(view: View, Id(name): Id<String>) -> Shown {
    let _ = jobs::run(view.caller.clone(), Id(name)).await?;
    again(view).await
}

/// Sends what did not arrive at a receiver again.
pub(super) async fn retry_receiver(view: View, Id(name): Id<String>) -> Shown {
    let _ = webhooks::retry(view.caller.clone(), Id(name)).await?;
    again(view).await
}

async fn again(view: View) -> Shown {
    if view.is_part() {
        health(view.at("/server")).await
    } else {
        Ok(Redirect::to("/console/server").into_response())
    }
}

#[derive(Template)]
#[template(path = "settings.html")]
struct Settings {
    held: HeldSettings,
}

impl Page for Settings {
    const SECTION: Section = Section::Server;

    fn title(&self) -> String {
        "Settings".to_owned()
    }

    fn shows(&self) -> Shows {
        Shows::Nothing
    }
}

pub(super) async fn settings(view: View, State(served): State<AppState>) -> Shown {
    let Json(held) = server::settings(view.caller.clone(), State(served)).await?;
    view.show(&Settings { held })
}
