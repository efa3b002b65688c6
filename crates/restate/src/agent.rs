//! What Restate calls: an object for each agent, with one handler.

use std::{sync::Arc, time::Duration};

use entourage_types::{AgentId, DatabaseId, Time};
use restate_sdk::{
    context::ObjectContext,
    endpoint::{Endpoint, ServiceOptions},
    errors::{HandlerError, TerminalError},
    serde::Json,
    service::IntoServiceDefinition,
};
use serde::{Deserialize, Serialize};

use crate::{
    Error, Result, Settings,
    deliveries::{Deliveries, NotNow},
};

/// The name of the object, with which it is called.
pub(crate) const NAME: &str = "Agent";
/// The version of what is sent. A new field that older nodes may ignore needs no new one.
pub(crate) const VERSION: u32 = 1;

/// Longer than any activation takes: before that, silence is a model that thinks.
const SILENCE: Duration = Duration::from_secs(35 * 60);
/// How long an activation may take to end after Restate has lost patience with it.
const ABORT: Duration = Duration::from_secs(60);
/// What is done is of no interest.
const KEPT: Duration = Duration::from_secs(1);
/// The pause after the first of several failures.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// More attempts than there will ever be: after its own maximum Restate would leave an agent alone.
const ATTEMPTS: u64 = u32::MAX as u64;

/// What is sent for a wake-up, to be read by nodes of this and of the neighbouring versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Delivery {
    /// Higher than [`VERSION`] if a node that does not know it must leave it to others.
    pub version: u32,
    /// What is due for the agent by then.
    pub due: Time,
    /// Whether this examines the way to a node, and nobody calls again if it ends at the wrong one.
    #[serde(default)]
    pub examines: bool,
}

/// The key of an agent's object: nodes of another database know that it is not theirs.
pub(crate) fn key(database: Option<DatabaseId>, agent: AgentId) -> String {
    database.map_or_else(|| agent.to_string(), |database| format!("{database}.{agent}"))
}

/// The status with which a call for examination is refused by a node of another database.
pub(crate) const OTHER_DATABASE: u16 = 409;

/// The object of an agent, whose key is the agent's id behind that of the database.
struct Agent(Arc<Deliveries>);

#[restate_sdk::object(name = "Agent")]
impl Agent {
    /// Advances the agent. There is no step for Restate to remember: what was done is in the store.
    #[handler]
    async fn advance(&self, ctx: ObjectContext<'_>, delivery: Json<Delivery>) -> Result<(), HandlerError> {
        let delivery = delivery.into_inner();
        let (database, agent) = match ctx.key().split_once('.') {
            Some((database, agent)) => (Some(database), agent),
            None => (None, ctx.key()),
        };
        if !self.0.serves(database) {
            let refused = NotNow::OtherDatabase;
            return Err(match delivery.examines {
                true => TerminalError::new_with_code(OTHER_DATABASE, refused.to_string()).into(),
                false => refused.into(),
            });
        }
        let unknown = |_| TerminalError::new_with_code(400, "the key is no id of an agent");
        let agent: AgentId = agent.parse().map_err(unknown)?;
        Ok(self.0.deliver(agent, delivery).await?)
    }
}

/// What a node serves to Restate.
pub(crate) fn endpoint(deliveries: Arc<Deliveries>, settings: &Settings) -> Result<Endpoint> {
    let options = ServiceOptions::new()
        .inactivity_timeout(SILENCE)
        .abort_timeout(ABORT)
        .journal_retention(Duration::ZERO)
        .idempotency_retention(KEPT)
        .retry_policy_initial_interval(FIRST_PAUSE.min(settings.longest_pause))
        .retry_policy_exponentiation_factor(2.0)
        .retry_policy_max_interval(settings.longest_pause)
        .retry_policy_max_attempts(ATTEMPTS);
    let builder = Endpoint::builder().bind(Agent(deliveries).into_service_definition().options(options));
    match &settings.identity_key {
        Some(key) => builder.identity_key(key).map(|builder| builder.build()).map_err(|_| Error::Key),
        None => Ok(builder.build()),
    }
}

/// Refuses what is no public key.
pub(crate) fn check_key(key: Option<&str>) -> Result<()> {
    let Some(key) = key else { return Ok(()) };
    Endpoint::builder().identity_key(key).map(|_| ()).map_err(|_| Error::Key)
}

#[cfg(test)]
mod tests {
    use entourage_engine::{
        SystemClock,
        dispatch::{Advance, Due},
    };
    use entourage_store::MemoryStore;

    use super::*;

    /// An engine without agents.
    struct Nobody;

    #[async_trait::async_trait]
    impl Advance for Nobody {
        fn woken(&self, _: AgentId) {}

        async fn advance(&self, _: AgentId, _: Due) -> entourage_engine::Result<()> {
            Ok(())
        }

        async fn give_up(&self, _: AgentId, _: &str) -> entourage_engine::Result<()> {
            Ok(())
        }
    }

    /// The status of the answer to somebody who calls and does not sign that.
    fn asked(identity_key: Option<&str>) -> u16 {
        let mut settings = Settings::new("http://127.0.0.1:1".parse().unwrap(), ([127, 0, 0, 1], 1).into());
        settings.identity_key = identity_key.map(ToOwned::to_owned);
        let parts =
            (Arc::new(Nobody) as _, Arc::new(MemoryStore::default()) as _, Arc::new(SystemClock) as _);
        let deliveries = Deliveries::new(&settings, None, parts, Default::default());
        let request = hyper::Request::get("/health").body(String::new()).unwrap();
        endpoint(Arc::new(deliveries), &settings).unwrap().handle(request).status().as_u16()
    }

    #[test]
    fn a_call_that_the_known_restate_did_not_sign_is_refused() {
        assert_eq!(asked(None), 200);
        assert_eq!(asked(Some("publickeyv1_ChjENKeMvCtRnqG2mrBK1HmPKufgFUc98K8B3ononQvp")), 401);
        assert!(matches!(check_key(Some("secret")), Err(Error::Key)));
    }

    #[test]
    fn a_delivery_of_a_neighbouring_version_is_read() {
        let later = r#"{"version": 1, "due": "2026-01-01T00:00:00Z", "place": {"owner": "bob"}}"#;
        let delivery: Delivery = serde_json::from_str(later).unwrap();
        assert_eq!(
            delivery,
            Delivery { version: 1, due: Time::from_micros(1_767_225_600_000_000), examines: false }
        );
    }
}
