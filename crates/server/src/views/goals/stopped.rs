//! Why an agent stopped, in the words of the goals API.

use entourage_types::StopReason;
use serde::{Serialize, Serializer};

/// A stop reason. Two of them have another word here than elsewhere: the design calls an agent `stalled` that was given
/// up, which elsewhere is one that went round in circles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stopped(pub(crate) StopReason);

impl Stopped {
    const fn word(self) -> &'static str {
        match self.0 {
            StopReason::Stale => "stalled",
            StopReason::Stalled => "circles",
            reason => reason.as_str(),
        }
    }
}

impl Serialize for Stopped {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_given_up_is_told_from_who_went_in_circles() {
        let words = [StopReason::Stale, StopReason::Stalled, StopReason::SameTool]
            .map(|reason| Stopped(reason).word());
        assert_eq!(words, ["stalled", "circles", "same_tool"]);
        assert!("circles".parse::<StopReason>().is_err(), "no other reason has that word");
    }
}
