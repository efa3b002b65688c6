//! The server, for its operator: whether it is well, what it is set to, and what receivers of webhooks were told.

use askama::Template;
use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Redirect},
};
use entourage_api::{Examine, Finding, FindingState, HeldSettings, Job, Receiver, Server, SetBy};

use super::{
    filters,
    shell::{Page, Section, Shown, Shows, View},
};
use crate::{
    extract::{Filter, Id},
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

impl Health {
    /// How many deliveries are to be attempted.
    fn pending(&self) -> u64 {
        self.receivers.iter().map(|receiver| receiver.pending).sum()
    }

    /// How many deliveries were given up.
    fn given_up(&self) -> u64 {
        self.receivers.iter().map(|receiver| receiver.given_up).sum()
    }
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
    view.show(Health { server, jobs: jobs.data, receivers: receivers.data }).await
}

/// Runs a job of maintenance now.
pub(super) async fn run_job(view: View, Id(name): Id<String>) -> Shown {
    let _ = jobs::run(view.caller.clone(), Id(name)).await?;
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
    view.show(Settings { held }).await
}

#[derive(Template)]
#[template(path = "doctor.html")]
struct Doctor {
    findings: Vec<Finding>,
    is_offline: bool,
}

impl Page for Doctor {
    const SECTION: Section = Section::Server;

    fn title(&self) -> String {
        "Doctor".to_owned()
    }

    // An examination takes its time: it is made when somebody asks for it.
    fn shows(&self) -> Shows {
        Shows::Nothing
    }
}

/// What the doctor finds without asking anybody.
pub(super) async fn doctor(view: View, State(served): State<AppState>) -> Shown {
    examined(view, served, true).await
}

/// What the doctor finds, with what providers say of their models, which may cost a word.
pub(super) async fn doctor_of_all(view: View, State(served): State<AppState>) -> Shown {
    examined(view.at("/server/doctor"), served, false).await
}

async fn examined(view: View, served: AppState, offline: bool) -> Shown {
    let Json(found) = server::doctor(view.caller.clone(), Filter(Examine { offline }), State(served)).await?;
    view.show(Doctor { findings: found.data, is_offline: offline }).await
}
