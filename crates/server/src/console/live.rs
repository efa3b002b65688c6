//! The stream of hints for the pages of a browser: that of `/v1/news`, until the login ends.

use axum::{Extension, extract::State, response::Response};
use entourage_api::FollowNews;

use super::logins::{LoginSecret, Logins};
use crate::{
    Problem,
    extract::{Caller, Filter},
    routes::{sse::ended, v1::news},
    state::AppState,
};

pub(super) async fn follow(
    caller: Caller,
    Filter(query): Filter<FollowNews>,
    State(served): State<AppState>,
    secret: Option<Extension<LoginSecret>>,
) -> Result<Response, Problem> {
    let expired = ended(caller.until, served.clone());
    let secret = secret.map(|Extension(secret)| secret);
    let logged_out = Logins::until_ended(served.logins.listen(), served.engine.clone(), secret);
    let either = async {
        tokio::select! {
            _ = expired => {}
            () = logged_out => {}
        }
    };
    news::followed(&caller, query, &served, either).await
}
