//! The web console: pages that show what the API shows, and forms that do what it does.
//!
//! A page calls the handlers of `/v1` and renders the documents that they return, so that whatever it shows can be read
//! there, too, and every rule of the API holds. Each page is one template and one file here. Its live part is served
//! alone below `/console/f`, from the same template, and `live.js` asks for it when a hint says that something changed.

mod act;
mod agencies;
mod agent;
pub(crate) mod assets;
mod documents;
mod events;
#[allow(unreachable_pub, reason = "what makes a filter of a function writes it so")]
mod filters;
mod goals;
mod grants;
mod headers;
mod id;
mod inbox;
mod kinds;
mod live;
mod login;
mod logins;
mod memory;
mod origin;
mod past;
mod problems;
mod request;
mod run;
mod server;
mod shell;
mod tree;
mod trees;
mod usage;

use axum::{
    Router,
    middleware::{from_fn, from_fn_with_state, map_response},
    response::Redirect,
    routing::{get, post},
};

use crate::{
    problem::{method_not_allowed, no_route},
    state::AppState,
};

pub(crate) use logins::Logins;

/// The pages, each of which can be asked for whole or without what surrounds its live part.
fn shown() -> Router<AppState> {
    Router::new()
        .route("/", get(inbox::open))
        .route("/answered", get(inbox::closed))
        .route("/grants", get(grants::show))
        .route("/q/{id}", get(inbox::one))
        .route("/trees", get(trees::show))
        .route("/trees/{id}", get(tree::show))
        .route("/agents/{id}", get(agent::show))
        .route("/trees/{id}/events", get(events::show))
        .route("/agencies", get(agencies::all))
        .route("/agencies/{name}", get(agencies::one))
        .route("/goals", get(goals::all))
        .route("/goals/{id}", get(goals::one))
        .route("/documents", get(documents::all))
        .route("/documents/{id}", get(documents::document))
        .route("/projects/{id}", get(documents::project))
        .route("/memory", get(memory::show))
        .route("/usage", get(usage::show))
        .route("/kinds", get(kinds::all))
        .route("/kinds/{name}", get(kinds::one))
        .route("/kinds/{name}/{version}", get(kinds::version))
        .route("/server", get(server::health))
        .route("/server/settings", get(server::settings))
        .route("/runs/{id}", get(run::show))
        .route("/runs/{id}/requests/{n}", get(request::show))
}

/// All that needs a login, if the server needs one.
pub(crate) fn pages() -> Router<AppState> {
    let forms = Router::new()
        .route("/q/{id}/answer", post(inbox::answer))
        .route("/grants/{id}/revoke", post(grants::revoke))
        .route("/agents", post(act::create))
        .route("/agents/{id}/messages", post(act::send))
        .route("/agents/{id}/interventions", post(act::intervene))
        .route("/documents/{id}/undo", post(documents::undo))
        .route("/kinds/reload", post(kinds::reload))
        .route("/kinds/check", post(kinds::check))
        .route("/server/jobs/{name}/run", post(server::run_job))
        .route("/server/webhooks/{name}/retry", post(server::retry_receiver))
        .route("/logout", post(login::log_out))
        .route("/id/{id}", get(id::find))
        .route("/live", get(live::follow));
    Router::new()
        .nest("/console", shown().merge(forms).fallback(no_route))
        .nest("/console/f", shown())
        .route("/console/", get(async || Redirect::permanent("/console")))
        .method_not_allowed_fallback(method_not_allowed)
}

/// All that needs no login.
pub(crate) fn open() -> Router<AppState> {
    Router::new()
        .route("/console/login", get(login::show).post(login::log_in))
        .route("/console/assets/{digest}/{*name}", get(assets::serve))
        .method_not_allowed_fallback(method_not_allowed)
}

/// Has routes act for whoever is logged in.
pub(crate) fn with_login(
    pages: Router<AppState>,
    served: &AppState,
    guarded: impl Fn(Router<AppState>) -> Router<AppState>,
) -> Router<AppState> {
    guarded(pages).layer(from_fn_with_state(served.clone(), logins::logged_in))
}

/// Has problems be pages, refuses what other sites have a browser send, and forbids pages what they do not need.
pub(crate) fn as_pages(routes: Router<AppState>) -> Router<AppState> {
    routes
        .layer(from_fn(origin::same_origin))
        .layer(from_fn(problems::as_page))
        .layer(map_response(headers::secured))
}
