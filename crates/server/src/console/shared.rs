//! Windows that show the same page: whoever asks for it while it is made gets the next one, which is made once for all of
//! them. None is kept: each was begun after whoever it answers had asked.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use axum::{
    body::{Body, Bytes, to_bytes},
    extract::{Request, State},
    http::{
        HeaderMap, HeaderValue, Method, StatusCode,
        header::{ACCEPT_ENCODING, ETAG, IF_NONE_MATCH},
    },
    middleware::Next,
    response::{IntoResponse, Response},
};
use entourage_types::Owner;

use crate::{Problem, auth::Identity};

/// What is asked for, and by whom: all that an answer depends on.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Asked {
    owner: Owner,
    is_operator: bool,
    path: String,
    encoding: Option<HeaderValue>,
}

/// The answers that are made.
#[derive(Clone, Default)]
pub(super) struct Shared(Arc<Mutex<HashMap<Asked, Latest>>>);

/// The last answer, while somebody waits for it or for the next one; who makes one holds it.
type Latest = Arc<tokio::sync::Mutex<Option<Answer>>>;

struct Answer {
    begun: Instant,
    headers: HeaderMap,
    body: Bytes,
}

/// Whoever waits for an answer or makes one. The last one forgets it.
struct Turn {
    all: Shared,
    asked: Asked,
    latest: Latest,
}

impl Asked {
    fn of(request: &Request) -> Option<Self> {
        let identity = request.extensions().get::<Identity>().filter(|_| request.method() == Method::GET)?;
        Some(Self {
            owner: identity.owner.clone(),
            is_operator: identity.is_operator,
            path: request.uri().path_and_query()?.as_str().to_owned(),
            encoding: request.headers().get(ACCEPT_ENCODING).cloned(),
        })
    }
}

impl Shared {
    fn turn(&self, asked: Asked) -> Turn {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let latest = Arc::clone(all.entry(asked.clone()).or_default());
        Turn { all: self.clone(), asked, latest }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut all = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        // This one, and that of all: new ones are only taken under the lock.
        if Arc::strong_count(&self.latest) == 2 {
            all.remove(&self.asked);
        }
    }
}

impl Answer {
    /// What a browser is sent that shows the page with this digest.
    fn beside(&self, shown: Option<&HeaderValue>) -> Response {
        if shown.is_some() && shown == self.headers.get(ETAG) {
            return StatusCode::NOT_MODIFIED.into_response();
        }
        (self.headers.clone(), Body::from(self.body.clone())).into_response()
    }
}

/// Middleware: answers with one page all who asked for it before it was begun, and with no page whoever shows it as it is.
pub(super) async fn once(State(all): State<Shared>, mut request: Request, next: Next) -> Response {
    let shown = request.headers_mut().remove(IF_NONE_MATCH);
    let (Some(asked), came) = (Asked::of(&request), Instant::now()) else { return next.run(request).await };
    let turn = all.turn(asked);
    let mut latest = turn.latest.lock().await;
    if let Some(answer) = latest.as_ref().filter(|answer| answer.begun >= came) {
        return answer.beside(shown.as_ref());
    }
    let begun = Instant::now();
    let response = next.run(request).await;
    if response.status() != StatusCode::OK {
        return response;
    }
    let (head, body) = response.into_parts();
    let Ok(body) = to_bytes(body, usize::MAX).await else {
        return Problem::internal("the page cannot be shown").into_response();
    };
    latest.insert(Answer { begun, headers: head.headers, body }).beside(shown.as_ref())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::{Router, middleware::from_fn_with_state, routing::get};
    use futures::{FutureExt as _, future::join};
    use tokio::sync::Semaphore;
    use tower::ServiceExt as _;

    use super::*;

    #[tokio::test]
    async fn who_asks_while_a_page_is_made_gets_the_next_one_which_is_made_once_for_all_of_them() {
        let (begun, let_go) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        let (counted, waits) = (Arc::clone(&begun), Arc::clone(&let_go));
        let page = move || {
            let (number, waits) = (counted.fetch_add(1, Ordering::Relaxed) + 1, Arc::clone(&waits));
            async move {
                waits.acquire().await.unwrap().forget();
                ([(ETAG, format!("\"{number}\""))], number.to_string())
            }
        };
        let all = Shared::default();
        let routes = Router::new().route("/", get(page)).layer(from_fn_with_state(all.clone(), once));
        let ask = |owner: &str, shown: &str| {
            let identity = Identity { owner: Owner::new(owner), is_operator: false, expires: None };
            let request = Request::get("/").header(IF_NONE_MATCH, shown).extension(identity);
            let answer = routes.clone().oneshot(request.body(Body::empty()).unwrap());
            Box::pin(async {
                let (head, body) = answer.await.unwrap().into_parts();
                let body = to_bytes(body, usize::MAX).await.unwrap();
                (head.status.as_u16(), String::from_utf8(body.to_vec()).unwrap())
            })
        };
        let (mut first, mut second, mut third) = (ask("one", ""), ask("one", "\"1\""), ask("one", "\"3\""));
        for waiting in [&mut first, &mut second, &mut third] {
            assert_eq!(waiting.as_mut().now_or_never(), None);
        }
        assert_eq!(begun.load(Ordering::Relaxed), 1);
        let mut other = ask("other", "");
        assert_eq!(other.as_mut().now_or_never(), None);
        assert_eq!(begun.load(Ordering::Relaxed), 2, "an owner waits for no other");
        let_go.add_permits(2);
        assert_eq!(join(first, other).await, ((200, "1".to_owned()), (200, "2".to_owned())));
        assert_eq!(second.as_mut().now_or_never(), None);
        let_go.add_permits(1);
        assert_eq!(join(second, third).await, ((200, "3".to_owned()), (304, String::new())));
        assert!(all.0.lock().unwrap().is_empty(), "nothing is kept");
    }

    #[tokio::test]
    async fn whoever_shows_a_page_as_it_is_gets_none_and_a_problem_answers_whoever_asked_alone() {
        let all = Shared::default();
        let routes = Router::new()
            .route("/", get(async || ([(ETAG, "\"a\"")], "page")))
            .route("/gone", get(async || StatusCode::NOT_FOUND))
            .layer(from_fn_with_state(all.clone(), once));
        for (path, shown, status) in [("/", "\"a\"", 304), ("/", "\"b\"", 200), ("/gone", "\"a\"", 404)] {
            let request = Request::get(path).header(IF_NONE_MATCH, shown).extension(Identity::local());
            let answer = routes.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
            assert_eq!(answer.status().as_u16(), status, "{path} {shown}");
        }
        assert!(all.0.lock().unwrap().is_empty());
    }
}
