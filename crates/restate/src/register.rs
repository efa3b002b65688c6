//! Tells Restate where the nodes are.

use serde::Serialize;
use url::Url;

use crate::{
    Result,
    ingress::{accepted, as_admin, below, client},
};

/// What Restate's admin API reads.
#[derive(Serialize)]
struct Deployment<'u> {
    uri: &'u str,
    /// Nothing is in a journal that another version could contradict, so what is served there may change.
    force: bool,
}

/// Registers with Restate, by its admin API, that agents are served at `uri`: at one URI for all nodes, where a
/// balancer or a name stands before them. One of them must answer now. Again whenever the options of this crate may
/// have changed, as after an upgrade, and whenever Restate has lost what it had.
///
/// # Errors
/// If Restate does not answer, or does not find a node there.
pub async fn register(admin: &Url, uri: &Url) -> Result<()> {
    let url = below(admin, &["deployments"])?;
    let request = client(admin)?.post(url).json(&Deployment { uri: uri.as_str(), force: true });
    accepted(request).await.map_err(as_admin)
}
