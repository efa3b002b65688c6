//! Secrets of the caller, which MCP servers are given: set, list and delete them. Their values are never shown.

use axum::{Json, http::StatusCode, response::IntoResponse};
use entourage_api::{Page, PageQuery, ResealedSecrets, Secret, SetSecret, schema};
use entourage_engine::Resealed;
use entourage_types::SecretName;
use secrecy::SecretString;

use super::{Answer, Conflict, Failures, Reserved};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, NoBody},
    page::Paging,
    routes::api_router::{ApiRouter, routes},
};

type SecretPage = Page<Secret>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(list)).routes(routes!(set, delete)).routes(routes!(reseal))
}

/// List your secrets, newest first, without their values
#[utoipa::path(
    get, path = "/v1/secrets", tag = "mcp servers", operation_id = "listSecrets", params(PageQuery),
    responses((status = 200, description = "A page of secrets.", body = SecretPage), Failures)
)]
async fn list(caller: Caller, Filter(query): Filter<PageQuery>) -> Answer<SecretPage> {
    Ok(Json(Paging::of(&query)?.narrowed(|rows| caller.client.secrets(rows)).await?))
}

/// Set a secret
///
/// It is stored sealed. MCP servers whose settings name it are connected with the new value when an agent next uses them.
#[utoipa::path(
    put, path = "/v1/secrets/{name}", tag = "mcp servers", operation_id = "setSecret",
    params(("name" = schema::SecretName, Path, description = "The name by which settings of MCP servers refer to it.")),
    request_body = SetSecret,
    responses(
        (status = 200, description = "It was replaced.", body = Secret),
        (status = 201, description = "It is new.", body = Secret),
        Failures, Conflict,
    )
)]
async fn set(
    caller: Caller,
    Id(name): Id<SecretName>,
    Body(SetSecret { value }): Body<SetSecret>,
) -> Result<impl IntoResponse, Problem> {
    let (is_new, secret) = caller.client.set_secret(name, &SecretString::from(value)).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(Secret::from(secret))))
}

/// Delete a secret: MCP servers that need it cannot be used
#[utoipa::path(
    delete, path = "/v1/secrets/{name}", tag = "mcp servers", operation_id = "deleteSecret",
    params(("name" = schema::SecretName, Path, description = "The name of the secret.")),
    responses((status = 204, description = "It is deleted."), Failures)
)]
async fn delete(caller: Caller, Id(name): Id<SecretName>) -> Result<StatusCode, Problem> {
    caller.client.delete_secret(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Seal the secrets of all owners anew with the first of the server's keys
#[utoipa::path(
    post, path = "/v1/secret_keys/reseal", tag = "operations", operation_id = "resealSecrets",
    responses((status = 200, description = "How many were sealed anew.", body = ResealedSecrets),
        Failures, Reserved, Conflict)
)]
async fn reseal(caller: Caller, _: NoBody) -> Answer<ResealedSecrets> {
    let Resealed { resealed, current, unreadable } = caller.client.reseal_secrets().await?;
    let [resealed, current, unreadable] = [resealed, current, unreadable].map(|count| count as u64);
    Ok(Json(ResealedSecrets { resealed, current, unreadable }))
}
