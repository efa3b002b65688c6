//! The HTTP server of an engine.
//!
//! A handler translates a request, calls a [`Client`](entourage_engine::Client), and translates
//! the result back; only this crate knows HTTP. [`serve`] runs the server, [`openapi`] describes its API.

mod accounts;
mod active_request;
mod auth;
mod blocking_work_limit;
mod bodies;
mod compression;
mod connections;
mod console;
mod counted_socket;
mod error;
mod extract;
mod in_process;
mod installation;
mod metrics;
mod page;
mod problem;
mod router;
mod routes;
mod serve;
mod settings;
mod state;
mod streams;
mod views;
mod webhook;

pub use auth::{Algorithm, Auth, Jwt, check_auth, mint};
pub use console::console_pages;
pub use error::Error;
pub use in_process::InProcess;
pub use installation::Installation;
pub use router::{check_registration, router};
pub use routes::openapi::{openapi, openapi_json};
pub use serve::{bind, serve, serve_installed, serve_probes};
pub use settings::Settings;
pub use webhook::{Webhook, WebhookSender, check_senders, outbox};

use problem::Problem;

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;
