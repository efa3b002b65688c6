//! Problems as pages, or in place of the part of a page that could not be had.

use askama::Template;
use axum::{
    extract::{OriginalUri, Request},
    http::{HeaderName, HeaderValue, StatusCode, header::ACCEPT},
    middleware::Next,
    response::{Html, IntoResponse, Response},
};

use super::{
    assets, filters,
    headers::secured,
    shell::{Asker, Main, Shell, is_htmx, live_path},
};
use crate::{Problem, problem::document_of};

/// A problem, with the id under which the log has its request.
#[derive(Template)]
#[template(path = "problem.html")]
struct Part<'a> {
    title: &'a str,
    detail: &'a str,
    request: &'a str,
    /// A page that has more of it, and what that is called.
    elsewhere: Option<&'a Elsewhere>,
    /// Whether it is all that the page has.
    is_whole: bool,
}

/// A page to which a refusal leads.
#[derive(Clone)]
struct Elsewhere {
    path: String,
    name: String,
}

/// A refusal with a link to what is in the way.
pub(super) fn elsewhere(problem: Problem, path: String, name: String) -> Response {
    let mut response = problem.into_response();
    response.extensions_mut().insert(Elsewhere { path, name });
    response
}

/// The response for a path at which there is no page.
pub(super) async fn no_page(OriginalUri(uri): OriginalUri) -> Problem {
    Problem::unknown_route(format!("there is no page at `{}`", uri.path()))
}

/// What a problem says, without its advice for programs.
fn for_people(detail: &str) -> &str {
    detail.split("; GET /").next().unwrap_or(detail)
}

/// The same as a page.
#[derive(Template)]
#[template(path = "problem_page.html")]
struct Whole<'a> {
    assets: &'a str,
    part: Part<'a>,
}

/// Below the navigation, if it is known who asks; alone otherwise.
fn whole(part: Part<'_>, path: &str, asker: Option<&Asker>) -> askama::Result<String> {
    match asker {
        Some(asker) => Shell::around(part.render()?, part.title, path, asker).render(),
        None => Whole { assets: assets::digest(), part }.render(),
    }
}

/// Middleware: shows a browser a refusal that came before any page as a page, too.
pub(crate) async fn refused(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_page = path == "/" || path == "/console" || path.starts_with("/console/");
    let accepted = request.headers().get(ACCEPT).and_then(|accepted| accepted.to_str().ok());
    if is_page && accepted.is_some_and(|accepted| accepted.contains("text/html")) {
        return secured(as_page(request, next).await).await;
    }
    next.run(request).await
}

/// Middleware: shows a problem as a page; to a script of a page, as the part that it asked for.
pub(super) async fn as_page(request: Request, next: Next) -> Response {
    let uri = request.uri().clone();
    let by_script = is_htmx(request.headers()) || live_path(uri.path()).is_some();
    let id =
        request.headers().get("x-request-id").and_then(|id| id.to_str().ok()).unwrap_or_default().to_owned();
    let response = next.run(request).await;
    let Some(document) = document_of(&response) else { return response };
    let expired = response.status() == StatusCode::UNAUTHORIZED;
    // What is shown stays while the person logs in again.
    let live = live_path(uri.path()).filter(|_| !expired);
    let is_whole = live.is_some() || !by_script;
    let elsewhere = response.extensions().get();
    let detail = for_people(&document.detail);
    let part = Part { title: &document.title, detail, request: &id, elsewhere, is_whole };
    let live = live.map(|path| Main {
        path: uri.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}")),
        title: &document.title,
        live: "all".into(),
        digest: "",
        content: part.render().unwrap_or_default(),
    });
    let (body, is_for_form) = match live {
        Some(live) => (live.render(), false),
        None if !by_script => (whole(part, uri.path(), response.extensions().get()), false),
        _ => (part.render(), true),
    };
    let Ok(body) = body else { return response };
    let mut page = (response.status(), Html(body)).into_response();
    let mut head = response.into_parts().0.headers;
    head.remove("content-type");
    head.remove("content-length");
    page.headers_mut().extend(head);
    if is_for_form { in_its_form(page) } else { page }
}

/// Has the script of a page show this in the form that was sent.
pub(super) fn in_its_form(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(HeaderName::from_static("hx-retarget"), HeaderValue::from_static("#failed"));
    headers.insert(HeaderName::from_static("hx-reswap"), HeaderValue::from_static("innerHTML"));
    response
}
