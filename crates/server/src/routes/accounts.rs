//! Registering and logging in, for servers that allow it. Neither needs a token: both give one.

use std::{net::IpAddr, sync::Arc};

use axum::{
    Json,
    extract::{FromRequest, FromRequestParts, Request, State},
    http::{StatusCode, request::Parts},
};
use entourage_engine::Error as EngineError;
use entourage_types::{Email, Owner};
use secrecy::SecretString;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;
use utoipa::{IntoResponses, ToSchema};

use super::Routes;
use crate::{
    Problem,
    accounts::{Accounts, Password},
    active_request::ActiveRequest,
    extract::Body,
    problem::{Detail, ValidationDetail},
    routes::api_router::{ApiRouter, routes},
    state::AppState,
};

pub(crate) const ROUTES: &[Routes] = &[routes];

fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(register)).routes(routes!(login))
}

/// An email address and a password.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct Credentials {
    /// The address, with one `@` and at most 254 characters without the blanks around it; it is compared without case.
    #[schema(min_length = 3, pattern = r"^\s*[^@\s]+@[^@\s]+\s*$")]
    email: String,
    /// The password, of any characters.
    #[serde(deserialize_with = "secret")]
    #[schema(value_type = String, format = Password, min_length = 8, max_length = 128)]
    password: SecretString,
}

/// A token, for `Authorization: Bearer <access_token>`.
#[derive(Serialize, ToSchema)]
struct AccessToken {
    /// The token, which lasts for a day.
    access_token: String,
    /// How it is sent.
    token_type: TokenType,
}

/// How a token is sent.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum TokenType {
    /// As a bearer token (RFC 6750).
    Bearer,
}

/// How both fail.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "only described")]
enum Refusals {
    /// Registration is off.
    #[response(status = 404)]
    Off(#[to_schema] Detail),
    /// The email or the password is not valid; the detail says what would be.
    #[response(status = 422)]
    Invalid(#[to_schema] ValidationDetail),
    /// Too many attempts with this email or from this address. `Retry-After` says when to try again.
    #[response(status = 429)]
    TooMany(#[to_schema] Detail),
    /// Too many people log in at once, or the server is stopping.
    #[response(status = 503)]
    Busy(#[to_schema] Detail),
    /// Anything else.
    #[response(status = "default")]
    Other(#[to_schema] Detail),
}

/// Reads a password. The reader's own error would repeat what is no text.
fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SecretString, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(text.into()),
        _ => Err(D::Error::custom("`password` must be a string")),
    }
}

/// The credentials in a body. What is wrong with one is said without repeating it: it may hold a password anywhere.
struct Given(Credentials);

impl FromRequest<AppState> for Given {
    type Rejection = Problem;

    async fn from_request(request: Request, served: &AppState) -> Result<Self, Problem> {
        Body::from_request(request, served)
            .await
            .map(|Body(given)| Self(given))
            .map_err(Problem::without_values)
    }
}

/// The accounts of a server that has any, and where a request comes from. Anything else is answered before the body
/// is read.
struct Open {
    accounts: Arc<Accounts>,
    address: Option<IpAddr>,
}

impl FromRequestParts<AppState> for Open {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, served: &AppState) -> Result<Self, Problem> {
        let accounts = served.accounts.clone().ok_or_else(|| {
            Problem::no_registration(
                "registration is off: the server's operator gives out tokens, or allows it with \
                 `server.registration = true`",
            )
        })?;
        let address = parts.extensions.get::<Arc<ActiveRequest>>().map(|visit| visit.address);
        Ok(Self { accounts, address })
    }
}

impl Open {
    /// What was given, once it is well formed and the attempt is counted.
    fn attempt(&self, given: &Credentials, served: &AppState) -> Result<(Email, Password), Problem> {
        let email = Email::parse(&given.email);
        let email = email.map_err(|error| Problem::invalid(format!("`email` {error}")).at("email"))?;
        let password = Password::new(&given.password).map_err(|problem| problem.at("password"))?;
        self.accounts.attempt(&email, self.address, served.engine.clock().now())?;
        Ok((email, password))
    }

    fn token(&self, owner: &Owner) -> Result<Json<AccessToken>, Problem> {
        let access_token = self.accounts.token(owner).map_err(|error| {
            tracing::error!(%error, "a token could not be signed");
            Problem::internal("the server's log has the cause, under this answer's x-request-id")
        })?;
        Ok(Json(AccessToken { access_token, token_type: TokenType::Bearer }))
    }
}

/// Register, with an email address and a password
///
/// Only where `server.registration` is set. Each account is an owner of its own. No mail is sent, and nothing checks
/// whose address it is.
#[utoipa::path(
    post, path = "/api/auth/register", tag = "accounts", operation_id = "register",
    request_body = Credentials, security(()),
    responses(
        (status = 201, description = "A token of the new account.", body = AccessToken),
        (status = 409, description = "There is an account with this email already.", body = Detail),
        Refusals,
    )
)]
async fn register(
    open: Open,
    State(served): State<AppState>,
    Given(given): Given,
) -> Result<(StatusCode, Json<AccessToken>), Problem> {
    let (email, password) = open.attempt(&given, &served)?;
    let account = match served.engine.create_account(email, password.hash().await?).await {
        Err(EngineError::NameInUse { name, .. }) => {
            return Err(Problem::email_taken(format!(
                "there is an account with the email `{name}` already: log in, or register another email"
            )));
        }
        made => made?,
    };
    Ok((StatusCode::CREATED, open.token(&account.sub)?))
}

/// Log in, with an email address and a password
///
/// Only where `server.registration` is set. Whether an account has the email does not show.
#[utoipa::path(
    post, path = "/api/auth/login", tag = "accounts", operation_id = "login",
    request_body = Credentials, security(()),
    responses(
        (status = 200, description = "A token of the account.", body = AccessToken),
        (status = 401, description = "No account has this email and this password.", body = Detail),
        Refusals,
    )
)]
async fn login(
    open: Open,
    State(served): State<AppState>,
    Given(given): Given,
) -> Result<Json<AccessToken>, Problem> {
    let (email, password) = open.attempt(&given, &served)?;
    let account = served.engine.account(&email).await?;
    // Compared also without an account, so that the time of the answer does not tell.
    let is_right = password.matches(account.as_ref().map(|account| account.password.clone())).await?;
    match account.filter(|_| is_right) {
        Some(account) => open.token(&account.sub),
        None => Err(Problem::wrong_credentials(
            "no account has this email and this password; check both, or register with POST /api/auth/register",
        )),
    }
}
