//! The native API. Each handler translates a request, calls the caller's client, and translates
//! the result back.

mod acts;
pub(crate) mod agencies;
pub(crate) mod agents;
pub(crate) mod budgets;
pub(crate) mod document_versions;
pub(crate) mod documents;
pub(crate) mod events;
pub(crate) mod goals;
pub(crate) mod grants;
mod health;
pub(crate) mod interventions;
pub(crate) mod jobs;
pub(crate) mod kinds;
mod mcp_servers;
pub(crate) mod memory;
pub(crate) mod messages;
pub(crate) mod news;
pub(crate) mod projects;
pub(crate) mod questions;
pub(crate) mod runs;
pub(crate) mod schedules;
mod secrets;
pub(crate) mod server;
pub(crate) mod usage;
pub(crate) mod webhooks;
pub(crate) mod work;

use axum::Json;

use super::{
    Routes,
    failures::{Conflict, Failures, Gone, Reserved, Stale},
};
use crate::Problem;

/// What every handler returns.
type Answer<T> = Result<Json<T>, Problem>;

pub(crate) const ROUTES: &[Routes] = &[
    agents::routes,
    agencies::routes,
    budgets::routes,
    messages::routes,
    interventions::routes,
    events::routes,
    news::routes,
    runs::routes,
    usage::routes,
    questions::routes,
    grants::routes,
    work::routes,
    goals::routes,
    schedules::routes,
    projects::routes,
    documents::routes,
    document_versions::routes,
    acts::routes,
    memory::routes,
    kinds::routes,
    mcp_servers::routes,
    secrets::routes,
    webhooks::routes,
    jobs::routes,
    health::routes,
    server::routes,
];
