//! Kinds of agents. They belong to the server, not to an owner.

use axum::Json;
use entourage_api::{CheckKind, Kind, KindFinding, KindVersion, List, Page, PageQuery, Reloaded};
use entourage_engine::KindUsage;

use super::{Answer, Failures, Reserved};
use crate::{
    Problem,
    blocking_work_limit::BlockingWorkLimit,
    extract::{Body, Caller, Filter, Id, Names},
    page::Paging,
    routes::api_router::{ApiRouter, routes},
    views,
};

/// The checks of files under way, of all callers.
static CHECKS: BlockingWorkLimit = BlockingWorkLimit::new(2);

type KindList = List<Kind>;
type VersionPage = Page<KindVersion>;
type FindingList = List<KindFinding>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(versions))
        .routes(routes!(version))
        // A fixed path shadows the path with a name for all methods, but a kind may be called `reload`, too.
        .routes(routes!(get_reload, reload))
        .routes(routes!(get_check, check))
}

/// List kinds, by name, with the number of your open runs of each version
#[utoipa::path(
    get, path = "/v1/kinds", tag = "kinds", operation_id = "listKinds",
    responses((status = 200, description = "All kinds, including those without a file that still have open runs.",
        body = KindList), Failures)
)]
pub(crate) async fn list(caller: Caller) -> Answer<KindList> {
    let is_operator = caller.client.is_operator();
    let kinds = caller.client.kinds_in_use().await?.into_iter();
    Ok(Json(kinds.map(|kind| views::kind(kind, is_operator)).collect()))
}

/// Get a kind
#[utoipa::path(
    get, path = "/v1/kinds/{name}", tag = "kinds", operation_id = "getKind",
    params(("name" = String, Path, description = "Its name.", max_length = 255)),
    responses((status = 200, description = "The kind.", body = Kind), Failures)
)]
pub(crate) async fn get(caller: Caller, Id(name): Id<String>) -> Answer<Kind> {
    named(&caller, &name).await
}

/// Get the kind that is called `reload`, if there is one
#[utoipa::path(
    get, path = "/v1/kinds/reload", tag = "kinds", operation_id = "getKindReload",
    responses((status = 200, description = "The kind.", body = Kind), Failures)
)]
async fn get_reload(caller: Caller) -> Answer<Kind> {
    named(&caller, "reload").await
}

async fn named(caller: &Caller, name: &str) -> Answer<Kind> {
    let found = caller.client.kinds_in_use().await?.into_iter().find(|used| used.kind.name == name);
    let used = found
        .ok_or_else(|| Problem::not_found(format!("there is no kind `{name}`; GET /v1/kinds lists them")))?;
    Ok(Json(views::kind(used, caller.client.is_operator())))
}

/// Reload the kinds, without a restart
///
/// New runs use the reloaded kinds; runs under way stay with the version that they began with. If a file has
/// a mistake, nothing changes, and the problem names the file and the line.
#[utoipa::path(
    post, path = "/v1/kinds/reload", tag = "kinds", operation_id = "reloadKinds",
    responses((status = 200, description = "What has changed.", body = Reloaded), Failures, Reserved)
)]
pub(crate) async fn reload(caller: Caller) -> Answer<Reloaded> {
    Ok(Json(views::reloaded(caller.client.reload_kinds().await?)))
}

/// Get the kind that is called `check`, if there is one
#[utoipa::path(
    get, path = "/v1/kinds/check", tag = "kinds", operation_id = "getKindCheck",
    responses((status = 200, description = "The kind.", body = Kind), Failures)
)]
async fn get_check(caller: Caller) -> Answer<Kind> {
    named(&caller, "check").await
}

/// Check the text of a kind's file, without changing anything
#[utoipa::path(
    post, path = "/v1/kinds/check", tag = "kinds", operation_id = "checkKind", request_body = CheckKind,
    responses((status = 200, description = "What is wrong, and what would have no effect.", body = FindingList), Failures)
)]
pub(crate) async fn check(
    caller: Caller,
    Body(CheckKind { file, text }): Body<CheckKind>,
) -> Answer<FindingList> {
    // Parsing a large file on an async thread would delay other requests.
    let check = move || caller.client.check_kind_file(file.as_deref().unwrap_or("kind.md"), &text);
    let findings = CHECKS.run(check).await;
    Ok(Json(findings.into_iter().map(views::finding).collect()))
}

/// List the versions of a kind with which runs have started, newest first
#[utoipa::path(
    get, path = "/v1/kinds/{name}/versions", tag = "kinds", operation_id = "listKindVersions",
    params(("name" = String, Path, description = "Its name.", max_length = 255), PageQuery),
    responses((status = 200, description = "A page of versions.", body = VersionPage), Failures)
)]
pub(crate) async fn versions(
    caller: Caller,
    Id(name): Id<String>,
    Filter(query): Filter<PageQuery>,
) -> Answer<VersionPage> {
    let found = Paging::of(&query)?.narrowed(|page| caller.client.kind_versions(&name, page)).await?;
    let data = found.data.into_iter().map(views::kind_version).collect();
    Ok(Json(Page { data, next_cursor: found.next_cursor }))
}

/// Get one version of a kind
#[utoipa::path(
    get, path = "/v1/kinds/{name}/versions/{version}", tag = "kinds", operation_id = "getKindVersion",
    params(
        ("name" = String, Path, description = "Its name.", max_length = 255),
        ("version" = String, Path, description = "The digest of its file.", max_length = 255),
    ),
    responses((status = 200, description = "The kind as it was or is. `open_runs`, `earlier` and `gone` are \
        omitted.", body = Kind), Failures)
)]
pub(crate) async fn version(caller: Caller, Names(name, version): Names) -> Answer<Kind> {
    let kind = caller.client.kind_version(&name, &version).await?;
    let used = KindUsage { kind, is_gone: false, open_runs: 0, earlier: Vec::new() };
    Ok(Json(views::kind(used, caller.client.is_operator())))
}
