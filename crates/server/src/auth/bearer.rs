//! Authenticates requests by their bearer token.

use std::{sync::Arc, time::Duration};

use axum::{
    body::HttpBody as _,
    extract::{Request, State},
    http::{HeaderMap, header::AUTHORIZATION},
    middleware::Next,
    response::Response,
};
use entourage_types::{Owner, Time, is_storable_name};
use jsonwebtoken::{DecodingKey, TokenData, Validation, errors::ErrorKind};
use serde::Deserialize;

use super::{Algorithm, Auth};
use crate::{Problem, Result, active_request::ActiveRequest};

/// Authenticates requests.
#[derive(Clone)]
pub(crate) enum Bearer {
    /// Requests need no token: each acts as the owner `local` and as the operator.
    Local,
    /// Every request needs a token.
    Token(Arc<Check>),
}

/// What tokens are verified against.
pub(crate) struct Check {
    key: DecodingKey,
    validation: Validation,
    operator: Option<String>,
    /// Whether a token's `operator` claim is trusted: only where tokens are signed with this server's own
    /// secret.
    is_own: bool,
}

/// The caller of a request, and when the caller's token expires.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) owner: Owner,
    /// Whether the caller may perform operator actions, which concern the whole server.
    pub(crate) is_operator: bool,
    /// When the token expires; a stream ends then. `None` without authentication.
    pub(crate) expires: Option<Time>,
}

/// The claims that are read from a token. All have defaults, so that the validation finds a missing claim and
/// names it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Claims {
    sub: String,
    exp: u64,
    operator: bool,
}

impl Bearer {
    /// Loads the key, and checks the JWT settings.
    pub(crate) fn new(auth: &Auth) -> Result<Self> {
        Ok(match auth {
            Auth::None => Self::Local,
            Auth::Jwt(jwt) => {
                jwt.checked()?;
                let (key, validation) = (jwt.decoding_key()?, jwt.validation());
                Self::Token(Arc::new(Check {
                    key,
                    validation,
                    operator: jwt.operator.clone(),
                    is_own: jwt.algorithm == Algorithm::Hs256,
                }))
            }
        })
    }

    fn identify(&self, headers: &HeaderMap) -> Result<Identity, Problem> {
        match self {
            Self::Local => Ok(Identity::local()),
            Self::Token(check) => check.verify(token(headers)?),
        }
    }
}

impl Identity {
    /// Whoever asks a server without authentication.
    pub(crate) fn local() -> Self {
        Self { owner: Owner::local(), is_operator: true, expires: None }
    }
}

impl Check {
    /// Returns whose token this is.
    pub(crate) fn verify(&self, token: &str) -> Result<Identity, Problem> {
        let read = jsonwebtoken::decode::<Claims>(token, &self.key, &self.validation);
        let TokenData { header, claims, .. } = read.map_err(|error| Problem::bad_token(why(error.kind())))?;
        // A recipient must reject a critical header parameter that it does not know (RFC 7515, 4.1.11).
        if header.crit.is_some() {
            return Err(Problem::bad_token("its `crit` names a parameter that this server does not know"));
        }
        if claims.sub.is_empty() {
            return Err(Problem::bad_token("its `sub` is empty"));
        }
        if !is_storable_name(&claims.sub) {
            return Err(Problem::bad_token("its `sub` has more than 512 bytes, or a NUL"));
        }
        let expires = Time::from_micros(0) + Duration::from_secs(claims.exp);
        let is_named = self.operator.as_ref() == Some(&claims.sub);
        let owner = Owner::new(claims.sub);
        let is_operator = is_named || self.is_own && claims.operator && owner == Owner::local();
        // `local` is the owner of requests without authentication; another issuer could give this `sub` to
        // any user.
        if owner == Owner::local() && !is_operator {
            return Err(Problem::bad_token("its `sub` is `local`, a name for the operator alone"));
        }
        Ok(Identity { owner, is_operator, expires: Some(expires) })
    }
}

/// Middleware: authenticates a request, counts it against its owner's limits, and passes it on.
pub(crate) async fn bearer(
    State(bearer): State<Bearer>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    // A stream may have been authenticated by the token in its address.
    let identity = match request.extensions_mut().remove::<Identity>() {
        Some(identity) => identity,
        None => bearer.identify(request.headers())?,
    };
    let visit = request.extensions().get::<Arc<ActiveRequest>>().cloned();
    if let Some(visit) = &visit {
        match bearer {
            Bearer::Local => visit.is_of_stranger()?,
            Bearer::Token(_) => visit.begin_request(&identity.owner)?,
        }
    }
    request.extensions_mut().insert(identity);
    let only_read = request.method().is_safe();
    let response = next.run(request).await;
    // A stream has no known length, and has a limit of its own.
    if let (Some(visit), Some(bytes)) = (visit, response.body().size_hint().exact()) {
        visit.book_answer(bytes, only_read)?;
    }
    Ok(response)
}

fn token(headers: &HeaderMap) -> Result<&str, Problem> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let header = values.next().ok_or_else(Problem::no_token)?;
    // With two headers, a proxy may check one token while this server reads the other.
    if values.next().is_some() {
        return Err(Problem::bad_token("`Authorization` is sent more than once; send it once"));
    }
    let value = header.to_str().map_err(|_| Problem::bad_token("it is not ASCII"))?;
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token.trim()),
        _ => Err(Problem::no_token()),
    }
}

/// Returns what is wrong with a token, in a form that helps its bearer and tells an attacker nothing new.
fn why(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::ExpiredSignature => "it has expired; get a new one",
        ErrorKind::ImmatureSignature => "it is not valid yet",
        ErrorKind::MissingRequiredClaim(claim) => match claim.as_str() {
            "exp" => "it has no `exp`",
            "sub" => "it has no `sub`",
            "aud" => "it has no `aud`",
            _ => "it has no `iss`",
        },
        ErrorKind::InvalidAudience => "it is for another audience",
        ErrorKind::InvalidIssuer => "it is from another issuer",
        ErrorKind::InvalidAlgorithm | ErrorKind::InvalidAlgorithmName => {
            "it is signed with another algorithm"
        }
        ErrorKind::InvalidSignature => "its signature does not match",
        _ => "it is malformed",
    }
}

#[cfg(test)]
mod tests {
    use std::{
        net::{IpAddr, Ipv4Addr},
        pin::Pin,
        task::{Context, Poll},
    };

    use axum::{
        Router,
        body::{Body, Bytes},
        middleware::from_fn_with_state,
        routing::get,
    };
    use hyper::body::{Frame, SizeHint};
    use tower::ServiceExt;

    use super::*;
    use crate::{
        Jwt,
        auth::mint,
        connections::{Connections, Limits, UNTAKEN},
    };

    /// A body that claims half of the bytes that unread responses may hold, and never yields any.
    struct Half;

    impl axum::body::HttpBody for Half {
        type Data = Bytes;
        type Error = axum::Error;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
            Poll::Pending
        }

        fn size_hint(&self) -> SizeHint {
            SizeHint::with_exact(UNTAKEN / 2)
        }
    }

    #[tokio::test]
    async fn unread_responses_of_one_owner_are_bounded() {
        let key = "a secret of the tests, longer than it is strong".into();
        let jwt = Jwt { algorithm: Algorithm::Hs256, key, audience: None, issuer: None, operator: None };
        let settings = crate::Settings { auth: Auth::Jwt(jwt), ..crate::Settings::default() };
        let routes = Router::new()
            .route("/", get(async || Body::new(Half)))
            .layer(from_fn_with_state(Bearer::new(&settings.auth).unwrap(), bearer));
        let connections = Connections::new(Limits::new(None));
        let ask = async |owner: &str| {
            let token = mint(&settings, &Owner::new(owner), Duration::from_secs(60)).unwrap();
            let visit = connections.enter(IpAddr::V4(Ipv4Addr::LOCALHOST)).request();
            let request = Request::get("/").header(AUTHORIZATION, format!("Bearer {token}"));
            let request = request.extension(Arc::clone(&visit)).body(Body::empty()).unwrap();
            (visit, routes.clone().oneshot(request).await.unwrap().status().as_u16())
        };
        let (first, second) = (ask("ann").await, ask("ann").await);
        assert_eq!([first.1, second.1, ask("ann").await.1, ask("bob").await.1], [200, 200, 429, 200]);
        drop(first);
        assert_eq!(ask("ann").await.1, 200);
    }
}
