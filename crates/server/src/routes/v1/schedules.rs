//! Triggers, fired at once, and the schedules that fire them.

use axum::{
    Json,
    http::{StatusCode, header::LOCATION},
    response::{AppendHeaders, IntoResponse},
};
use entourage_api::{CreateSchedule, FireTrigger, ListSchedules, Page, Posted, Schedule, schema};
use entourage_engine::NewSchedule;
use entourage_types::{AgentId, ScheduleId, Trigger};

use super::{Answer, Conflict, Failures};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, IdempotencyKey, NoBody, NoQuery},
    page::Paging,
    routes::api_router::{ApiRouter, routes},
    views,
};

type SchedulePage = Page<Schedule>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(get))
        .routes(routes!(pause))
        .routes(routes!(resume))
        .routes(routes!(end))
        .routes(routes!(fire))
        .routes(routes!(trigger))
}

/// Create a schedule, which sets an agent to work by itself
///
/// Times that come while the agent has not read the last trigger, while its goal is archived, or while no process is there,
/// are left out. What was to fire once comes when the goal is taken up again.
#[utoipa::path(
    post, path = "/v1/schedules", tag = "schedules", operation_id = "createSchedule",
    params(IdempotencyKey),
    request_body = CreateSchedule,
    responses(
        (status = 201, description = "The schedule.", body = Schedule,
         headers(("Location" = String, description = "The path of the schedule."))),
        Failures, Conflict,
    )
)]
pub(crate) async fn create(
    caller: Caller,
    key: IdempotencyKey,
    Body(new): Body<CreateSchedule>,
) -> Result<impl IntoResponse, Problem> {
    let CreateSchedule { agent, trigger: name, payload, text, first, recurrence } = new;
    let trigger = Trigger { name, payload, schedule: None };
    let (text, recurrence) = (text.unwrap_or_default(), recurrence.into());
    let new = NewSchedule { agent, text, trigger, first, recurrence };
    let schedule = caller.client.schedule(new, key.as_deref()).await?;
    let location = format!("/v1/schedules/{}", schedule.id);
    Ok((StatusCode::CREATED, AppendHeaders([(LOCATION, location)]), Json(Schedule::from(schedule))))
}

/// List schedules, newest first
#[utoipa::path(
    get, path = "/v1/schedules", tag = "schedules", operation_id = "listSchedules", params(ListSchedules),
    responses((status = 200, description = "A page of schedules.", body = SchedulePage), Failures)
)]
pub(crate) async fn list(caller: Caller, Filter(query): Filter<ListSchedules>) -> Answer<SchedulePage> {
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    let read = |rows| caller.client.schedules(query.agent, query.status, rows);
    Ok(Json(paging.read(read, |schedule| schedule.id.to_string()).await?))
}

/// Get a schedule
#[utoipa::path(
    get, path = "/v1/schedules/{id}", tag = "schedules", operation_id = "getSchedule",
    params(("id" = schema::ScheduleId, Path, description = "The schedule.")),
    responses((status = 200, description = "The schedule.", body = Schedule), Failures)
)]
async fn get(caller: Caller, Id(id): Id<ScheduleId>, _: NoQuery) -> Answer<Schedule> {
    Ok(Json(caller.client.record::<entourage_types::Schedule>(id).await?.into()))
}

/// Pause a schedule: it does not fire until it is resumed
#[utoipa::path(
    post, path = "/v1/schedules/{id}/pause", tag = "schedules", operation_id = "pauseSchedule",
    params(("id" = schema::ScheduleId, Path, description = "The schedule.")),
    responses((status = 200, description = "The schedule.", body = Schedule), Failures, Conflict)
)]
pub(crate) async fn pause(caller: Caller, Id(id): Id<ScheduleId>, _: NoBody) -> Answer<Schedule> {
    Ok(Json(caller.client.pause_schedule(id).await?.into()))
}

/// Resume a paused schedule, with its next time
///
/// Times that passed meanwhile do not come again; one that was to fire once, and has not, fires at once.
#[utoipa::path(
    post, path = "/v1/schedules/{id}/resume", tag = "schedules", operation_id = "resumeSchedule",
    params(("id" = schema::ScheduleId, Path, description = "The schedule.")),
    responses((status = 200, description = "The schedule.", body = Schedule), Failures, Conflict)
)]
pub(crate) async fn resume(caller: Caller, Id(id): Id<ScheduleId>, _: NoBody) -> Answer<Schedule> {
    Ok(Json(caller.client.resume_schedule(id).await?.into()))
}

/// End a schedule: it fires no more
#[utoipa::path(
    post, path = "/v1/schedules/{id}/end", tag = "schedules", operation_id = "endSchedule",
    params(("id" = schema::ScheduleId, Path, description = "The schedule.")),
    responses((status = 200, description = "The schedule.", body = Schedule), Failures)
)]
pub(crate) async fn end(caller: Caller, Id(id): Id<ScheduleId>, _: NoBody) -> Answer<Schedule> {
    Ok(Json(caller.client.end_schedule(id).await?.into()))
}

/// Fire a schedule now, also a paused one; its next time stays
#[utoipa::path(
    post, path = "/v1/schedules/{id}/fire", tag = "schedules", operation_id = "fireSchedule",
    params(("id" = schema::ScheduleId, Path, description = "The schedule."), IdempotencyKey),
    responses(
        (status = 202, description = "The agent reads its trigger in a run of its own.", body = Posted),
        Failures, Conflict,
    )
)]
pub(crate) async fn fire(
    caller: Caller,
    Id(id): Id<ScheduleId>,
    key: IdempotencyKey,
    _: NoBody,
) -> Result<(StatusCode, Json<Posted>), Problem> {
    let posted = caller.client.fire_schedule(id, key.as_deref()).await?;
    Ok((StatusCode::ACCEPTED, Json(views::posted(posted))))
}

/// Set an agent to work with a trigger, at once
#[utoipa::path(
    post, path = "/v1/agents/{id}/triggers", tag = "schedules", operation_id = "fireTrigger",
    params(("id" = schema::AgentId, Path, description = "The agent."), IdempotencyKey),
    request_body = FireTrigger,
    responses(
        (status = 202, description = "The agent reads it in a run of its own, after the one under way.", body = Posted),
        Failures, Conflict,
    )
)]
pub(crate) async fn trigger(
    caller: Caller,
    Id(id): Id<AgentId>,
    key: IdempotencyKey,
    Body(fired): Body<FireTrigger>,
) -> Result<(StatusCode, Json<Posted>), Problem> {
    let FireTrigger { name, payload, text } = fired;
    let trigger = Trigger { name, payload, schedule: None };
    let posted = caller.client.trigger(id, trigger, &text.unwrap_or_default(), key.as_deref()).await?;
    Ok((StatusCode::ACCEPTED, Json(views::posted(posted))))
}
