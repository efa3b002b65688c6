//! What surrounds each page, and how a page is asked for: whole, or without what surrounds its live part.

use std::fmt::Write as _;

use askama::Template;
use axum::{
    extract::{Form, FromRequest, FromRequestParts, OriginalUri, Request, rejection::FormRejection},
    http::{HeaderMap, HeaderName, header::ETAG, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use entourage_types::{AgentId, Owner, PostId, Time};
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::{assets, filters, filters::rendered};
use crate::{Problem, auth::Identity, blocking_work_limit::OnePerOwner, extract::Caller, state::AppState};

/// Below this path pages are served without what surrounds their live part.
pub(super) const LIVE: &str = "/console/f";

/// What a handler of the console returns.
pub(super) type Shown = Result<Response, Problem>;

/// The pages that can be reached from each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Inbox,
    Chats,
    Trees,
    Goals,
    Documents,
    Memory,
    Kinds,
    Agencies,
    Usage,
    Server,
}

impl Section {
    const ALL: [Self; 10] = [
        Self::Inbox,
        Self::Chats,
        Self::Trees,
        Self::Goals,
        Self::Documents,
        Self::Memory,
        Self::Kinds,
        Self::Agencies,
        Self::Usage,
        Self::Server,
    ];

    fn is(self, other: &Option<Self>) -> bool {
        Some(self) == *other
    }

    /// That of a path, whether it leads to a page or not.
    fn of(path: &str) -> Option<Self> {
        let below = |section: &&Self| {
            let rest = path.strip_prefix(section.link(&true).path);
            **section != Self::Inbox && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        Self::ALL.iter().find(below).copied()
    }

    fn link(self, is_operator: &bool) -> Link {
        let link = |name, path, key| Link { name, path, key };
        match self {
            Self::Inbox => link("Inbox", "/console", 'i'),
            Self::Chats => link("Chats", "/console/chats", 'c'),
            Self::Trees => link("Trees", "/console/trees", 't'),
            Self::Goals => link("Goals", "/console/goals", 'o'),
            Self::Documents => link("Documents", "/console/documents", 'd'),
            Self::Memory => link("Memory", "/console/memory", 'm'),
            Self::Kinds => link("Kinds", "/console/kinds", 'k'),
            Self::Agencies => link("Agencies", "/console/agencies", 'a'),
            Self::Usage => link("Usage", "/console/usage", 'u'),
            Self::Server if *is_operator => link("Server", "/console/server", 'h'),
            // All that others see of the server.
            Self::Server => link("Webhooks", "/console/webhooks", 'h'),
        }
    }
}

/// How a section is reached.
struct Link {
    name: &'static str,
    path: &'static str,
    /// The key that leads to it, after `g`.
    key: char,
}

/// Which changes a page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shows {
    /// Those of everything that its owner has.
    Everything,
    /// Those of one tree.
    Tree(AgentId),
    /// Those of the server, such as its kinds.
    Server,
    /// None: it shows what a restart alone changes.
    Nothing,
}

impl std::fmt::Display for Shows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Everything => f.write_str("all"),
            Self::Tree(root) => root.fmt(f),
            Self::Server => f.write_str("server"),
            Self::Nothing => f.write_str("nothing"),
        }
    }
}

/// A page. Its template is its live part.
pub(super) trait Page: Template {
    const SECTION: Section;

    fn title(&self) -> String;

    fn shows(&self) -> Shows {
        Shows::Everything
    }

    /// What stands below the live part and is never refreshed, such as a form that a person fills in.
    fn below(&self, _: &View) -> askama::Result<String> {
        Ok(String::new())
    }
}

/// How a page was asked for, and by whom.
pub(super) struct View {
    pub(super) caller: Caller,
    /// The path and the query within the console.
    path: String,
    is_part: bool,
    now: Time,
}

/// The live part, with how it is refreshed.
#[derive(Template)]
#[template(path = "main.html")]
pub(super) struct Main<'a> {
    pub(super) path: String,
    pub(super) title: &'a str,
    pub(super) live: String,
    pub(super) digest: &'a str,
    pub(super) content: String,
}

#[derive(Template)]
#[template(path = "shell.html")]
pub(super) struct Shell<'a> {
    title: &'a str,
    assets: &'a str,
    /// None, where no page is shown.
    section: Option<Section>,
    owner: &'a Owner,
    /// Tells the pages of this owner from those of others.
    asker: String,
    has_login: bool,
    is_operator: bool,
    main: Main<'a>,
    below: String,
}

impl FromRequestParts<AppState> for View {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, served: &AppState) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, served).await?;
        let uri = parts.extensions.get::<OriginalUri>().map_or(&parts.uri, |OriginalUri(uri)| uri);
        let is_part = live_path(uri.path()).is_some() || is_htmx(&parts.headers);
        let whole = uri.path_and_query().map_or("", |path| path.as_str());
        let of_live = whole.strip_prefix(LIVE).filter(|_| live_path(uri.path()).is_some());
        let within = of_live.or_else(|| whole.strip_prefix("/console"));
        let path = within.unwrap_or_default().to_owned();
        let now = served.engine.clock().now();
        Ok(Self { caller, path, is_part, now })
    }
}

impl View {
    /// The same for what is shown in place of the page that a form was on.
    pub(super) fn at(self, path: impl Into<String>) -> Self {
        Self { path: path.into(), ..self }
    }

    /// The time, by the clock that runs the agents.
    pub(super) fn now(&self) -> Time {
        self.now
    }

    /// Whether a script of a page asks.
    pub(super) fn is_part(&self) -> bool {
        self.is_part
    }

    /// The response with a page. Texts may be long: rendering them holds up no other work, and none of other owners.
    pub(super) async fn show<P: Page + Send + 'static>(self, page: P) -> Shown {
        static RENDERING: OnePerOwner = OnePerOwner::new();
        let owner = self.caller.client.owner().clone();
        RENDERING.run(&owner, move || self.rendered(&page)).await
    }

    fn rendered<P: Page>(&self, page: &P) -> Shown {
        let content = rendered_text(page)?;
        let digest = short_digest(&content);
        let title = page.title();
        let live = page.shows().to_string();
        let main = Main { path: self.path.clone(), title: &title, live, digest: &digest, content };
        let tag = [(ETAG, format!("\"{digest}\""))];
        if self.is_part {
            return Ok((tag, rendered(&main)?).into_response());
        }
        let below = page.below(self).map_err(|error| unrendered(&error))?;
        let shell = Shell {
            title: &title,
            assets: assets::digest(),
            section: Some(P::SECTION),
            owner: self.caller.client.owner(),
            asker: short_digest(self.caller.client.owner().as_str()),
            has_login: self.caller.until.is_some(),
            is_operator: self.caller.client.is_operator(),
            main,
            below,
        };
        Ok(rendered(&shell)?.into_response())
    }
}

/// Who asks, as far as a page that shows a problem needs it.
#[derive(Clone)]
pub(super) struct Asker {
    owner: Owner,
    has_login: bool,
    is_operator: bool,
}

/// In which a script says whose page it is of.
const ASKER: HeaderName = HeaderName::from_static("console-asker");
/// Has the page loaded again.
const REFRESH: HeaderName = HeaderName::from_static("hx-refresh");

/// Middleware: has a response say who has asked, and refuses what a page asks that was another person's: somebody else has
/// logged in since, in another window.
pub(super) async fn known(request: Request, next: Next) -> Response {
    let asker = request.extensions().get::<Identity>().map(|identity| Asker {
        owner: identity.owner.clone(),
        has_login: identity.expires.is_some(),
        is_operator: identity.is_operator,
    });
    let page = request.headers().get(ASKER);
    let is_anothers = |asker: &Asker| {
        page.is_some_and(|page| page.as_bytes() != short_digest(asker.owner.as_str()).as_bytes())
    };
    if asker.as_ref().is_some_and(is_anothers) {
        let refused = Problem::not_now("this page is another person's, who was logged in before");
        return ([(REFRESH, "true")], refused).into_response();
    }
    let mut response = next.run(request).await;
    if let Some(asker) = asker {
        response.extensions_mut().insert(asker);
    }
    response
}

impl<'a> Shell<'a> {
    /// What surrounds a problem, which is never refreshed.
    pub(super) fn around(content: String, title: &'a str, path: &str, asker: &'a Asker) -> Self {
        let main = Main { path: String::new(), title, live: Shows::Nothing.to_string(), digest: "", content };
        Self {
            title,
            assets: assets::digest(),
            section: Section::of(path),
            owner: &asker.owner,
            asker: short_digest(asker.owner.as_str()),
            has_login: asker.has_login,
            is_operator: asker.is_operator,
            main,
            below: String::new(),
        }
    }
}

fn rendered_text(template: &impl Template) -> Result<String, Problem> {
    template.render().map_err(|error| unrendered(&error))
}

pub(super) fn unrendered(error: &askama::Error) -> Problem {
    tracing::error!(%error, "a page cannot be rendered");
    Problem::internal("the page cannot be shown; the server's log has the cause")
}

fn short_digest(content: &str) -> String {
    let mut digest = String::with_capacity(16);
    for byte in &Sha256::digest(content)[..8] {
        // Writing to a string cannot fail.
        let _ = write!(digest, "{byte:02x}");
    }
    digest
}

/// Whether a script of a page asks, which shows the response in place of a part of the page.
pub(super) fn is_htmx(headers: &HeaderMap) -> bool {
    headers.contains_key("hx-request")
}

/// Whether a request is for a part of a page, or for what only a script asks for.
pub(super) fn is_part(request: &Request) -> bool {
    let path = request.uri().path();
    live_path(path).is_some() || path == "/console/live" || is_htmx(request.headers())
}

/// The path of the page whose live part is at this path.
pub(super) fn live_path(path: &str) -> Option<&str> {
    path.strip_prefix(LIVE).filter(|page| page.is_empty() || page.starts_with('/'))
}

/// A new idempotency key for a form: sent twice, it has its effect once.
pub(super) fn new_key() -> String {
    PostId::new().to_string()
}

/// The fields of a form.
pub(super) struct Fields<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Fields<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        match Form::<T>::from_request(request, state).await {
            Ok(Form(fields)) => Ok(Self(fields)),
            Err(FormRejection::BytesRejection(unread)) => Err(unread.into()),
            Err(other) => Err(Problem::bad_body(other.body_text())),
        }
    }
}
