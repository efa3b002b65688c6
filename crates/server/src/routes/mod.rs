//! The routes, a file per group.

pub(crate) mod accounts;
pub(crate) mod acting;
pub(crate) mod api_router;
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

use api_router::ApiRouter;

/// Makes the routes of a group.
pub(crate) type Routes = fn() -> ApiRouter;
