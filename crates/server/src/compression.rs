//! Which responses are compressed: those of known size that are large enough for it to pay, and those that a browser
//! fetches once.

use axum::{
    body::HttpBody,
    http::{Response, header::CACHE_CONTROL},
};
use tower_http::compression::predicate::{DefaultPredicate, Predicate};

/// The smallest response, in bytes, for which fewer packets make up for the work of compression.
const LARGE: u64 = 4 * 1024;
/// What is said of a response that a browser fetches once, since its path changes with its content.
pub(crate) const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// Compresses large responses of known size. A stream has no known size, and its events would wait in the
/// compressor.
#[derive(Clone, Default)]
pub(crate) struct LargeResponses(DefaultPredicate);

impl Predicate for LargeResponses {
    fn should_compress<B: HttpBody>(&self, response: &Response<B>) -> bool {
        let is_kept = response.headers().get(CACHE_CONTROL).is_some_and(|kept| kept == IMMUTABLE);
        let least = if is_kept { 0 } else { LARGE };
        let size = response.body().size_hint().exact();
        size.is_some_and(|size| size >= least) && self.0.should_compress(response)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::body::Body;

    use super::*;

    fn compresses(body: Body, content_type: &str) -> bool {
        LargeResponses::default()
            .should_compress(&Response::builder().header("content-type", content_type).body(body).unwrap())
    }

    #[test]
    fn what_is_fetched_once_is_compressed_whatever_its_size() {
        let small = Response::builder().header(CACHE_CONTROL, IMMUTABLE).body(Body::from("x".repeat(1000)));
        assert!(LargeResponses::default().should_compress(&small.unwrap()));
    }

    #[test]
    fn small_and_streamed_responses_are_not_compressed() {
        let large = "x".repeat(4 * 1024);
        let stream = futures::stream::iter([Ok::<_, Infallible>(large.clone())]);
        assert!(compresses(Body::from(large.clone()), "application/json"));
        assert!(!compresses(Body::from(large[1..].to_owned()), "application/json"));
        assert!(!compresses(Body::from_stream(stream), "text/plain"));
        assert!(!compresses(Body::from(large), "text/event-stream"));
    }
}
