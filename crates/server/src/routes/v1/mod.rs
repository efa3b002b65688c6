//! The native API. Each handler translates a request, calls the caller's client, and translates
//! the result back.

mod agencies;
mod agents;
mod budgets;
mod events;
mod grants;
mod interventions;
mod jobs;
mod kinds;
mod memory;
mod messages;
mod news;
mod questions;
mod runs;
mod server;
mod usage;
mod webhooks;
mod work;

use axum::Json;
use utoipa_axum::router::OpenApiRouter;

use super::failures::{Conflict, Failures, Gone, Reserved};
use crate::{Problem, state::AppState};

/// What every handler returns.
type Answer<T> = Result<Json<T>, Problem>;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .merge(agents::routes())
        .merge(agencies::routes())
        .merge(budgets::routes())
        .merge(messages::routes())
        .merge(interventions::routes())
        .merge(events::routes())
        .merge(news::routes())
        .merge(runs::routes())
        .merge(usage::routes())
        .merge(questions::routes())
        .merge(grants::routes())
        .merge(work::routes())
        .merge(memory::routes())
        .merge(kinds::routes())
        .merge(webhooks::routes())
        .merge(jobs::routes())
        .merge(server::routes())
}
