//! Problems as pages, or in place of the part of a page that could not be had.

use askama::Template;
use axum::{
    extract::Request,
    http::{HeaderName, HeaderValue, StatusCode},
    middleware::Next,
    response::{Html, IntoResponse, Response},
};

use super::{
    assets, filters,
    shell::{Main, is_htmx, live_path},
};
use crate::problem::document_of;

/// A problem, with the id under which the log has its request.
#[derive(Template)]
#[template(path = "problem.html")]
struct Part<'a> {
    title: &'a str,
    detail: &'a str,
    request: &'a str,
}

/// The same as a page.
#[derive(Template)]
#[template(path = "problem_page.html")]
struct Whole<'a> {
    assets: &'a str,
    part: Part<'a>,
}

/// Middleware: shows a problem as a page; to a script of a page, as the part that it asked for.
pub(super) async fn as_page(request: Request, next: Next) -> Response {
    let (uri, by_script) = (request.uri().clone(), is_htmx(request.headers()));
    let id =
        request.headers().get("x-request-id").and_then(|id| id.to_str().ok()).unwrap_or_default().to_owned();
    let response = next.run(request).await;
    let Some(document) = document_of(&response) else { return response };
    let part = Part { title: &document.title, detail: &document.detail, request: &id };
    let live = live_path(uri.path()).map(|path| Main {
        path: uri.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}")),
        title: &document.title,
        live: "all".into(),
        digest: "",
        content: part.render().unwrap_or_default(),
    });
    let expired = response.status() == StatusCode::UNAUTHORIZED;
    let (body, targets) = match live {
        // What is shown stays while the person logs in again.
        Some(live) if !expired => (live.render(), None),
        None if !by_script => (Whole { assets: assets::digest(), part }.render(), None),
        _ => (part.render(), Some("#failed")),
    };
    let Ok(body) = body else { return response };
    let mut page = (response.status(), Html(body)).into_response();
    let mut head = response.into_parts().0.headers;
    head.remove("content-type");
    head.remove("content-length");
    page.headers_mut().extend(head);
    if let Some(target) = targets {
        page.headers_mut().insert(HeaderName::from_static("hx-retarget"), HeaderValue::from_static(target));
        page.headers_mut()
            .insert(HeaderName::from_static("hx-reswap"), HeaderValue::from_static("innerHTML"));
    }
    page
}
