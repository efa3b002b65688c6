//! The routes, a file per group.

pub(crate) mod accounts;
pub(crate) mod acting;
pub(crate) mod chats;
pub(crate) mod document_agent;
mod download;
pub(crate) mod explorer;
pub(crate) mod failures;
pub(crate) mod goals;
pub(crate) mod openapi;
pub(crate) mod operations;
pub(crate) mod sse;
pub(crate) mod v1;
pub(crate) mod webhook;

use utoipa_axum::router::OpenApiRouter;

use crate::state::AppState;

/// Makes the routes of a group, with their description.
pub(crate) type Routes = fn() -> OpenApiRouter<AppState>;
