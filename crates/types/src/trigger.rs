//! Triggers: what sets an agent to work without anybody writing to it.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::ScheduleId;

/// What set an agent to work: a name, and what the agent's program reads with it as a type of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trigger {
    /// Its name, by which a program tells triggers apart.
    pub name: String,
    /// What comes with it.
    #[serde(skip_serializing_if = "Value::is_null", default)]
    pub payload: Value,
    /// The schedule that fired; none if it was fired by hand.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub schedule: Option<ScheduleId>,
}

/// What comes with the triggers of one name.
pub trait Payload: Serialize + DeserializeOwned {
    /// The name.
    const NAME: &'static str;
}

/// What a kind says about the triggers of one name (S4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriggerRule {
    /// What the agent reads, unless whoever fires the trigger says something else.
    pub text: String,
    /// Whether the session is closed as soon as the run that read it has succeeded.
    #[serde(default)]
    pub ends_session: bool,
}

impl Trigger {
    /// A trigger with this payload, fired by hand.
    ///
    /// # Errors
    /// If the payload cannot be written as JSON.
    pub fn new<P: Payload>(payload: &P) -> serde_json::Result<Self> {
        Ok(Self { name: P::NAME.to_owned(), payload: serde_json::to_value(payload)?, schedule: None })
    }

    /// Its payload; none if it has another name.
    ///
    /// # Errors
    /// If a trigger of this name has another payload.
    pub fn read<P: Payload>(&self) -> serde_json::Result<Option<P>> {
        if self.name == P::NAME { P::deserialize(&self.payload).map(Some) } else { Ok(None) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct CheckIn {
        day: u32,
    }

    impl Payload for CheckIn {
        const NAME: &'static str = "check_in";
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Feed;

    impl Payload for Feed {
        const NAME: &'static str = "feed";
    }

    #[test]
    fn a_payload_reads_back_as_its_own_type_alone() {
        let trigger = Trigger::new(&CheckIn { day: 3 }).unwrap();
        assert_eq!(trigger.read::<CheckIn>().unwrap(), Some(CheckIn { day: 3 }));
        assert_eq!(trigger.read::<Feed>().unwrap(), None);
        let other = Trigger { payload: "later".into(), ..trigger };
        assert!(other.read::<CheckIn>().is_err());
    }
}
