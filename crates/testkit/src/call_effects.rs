//! What a story's calls did beside their outputs: how many times each had its effect, and what a
//! person decided when that was unknown.

use std::collections::BTreeMap;

use entourage_tools::Effect;
use entourage_types::{About, AgentId, Answer, CallId, Item, ItemBody, Question};

use crate::Fact;

/// What the calls of one tool with the same arguments did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallEffects {
    /// Their effect class.
    pub effect: Effect,
    /// How many calls had their effect, or may have had it.
    pub calls: usize,
    /// How many times they had their effect.
    pub times: usize,
    /// The highest number of effects of a single call.
    pub most: usize,
    /// The highest number of activations of the agent of a single call.
    pub activations: usize,
    /// How many times a person was asked whether an interrupted call had its effect.
    pub doubts: usize,
    /// How many times that person had the call made again.
    pub retries: usize,
}

impl CallEffects {
    /// The counts of no calls.
    fn none(effect: Effect) -> Self {
        Self { effect, calls: 0, times: 0, most: 0, activations: 0, doubts: 0, retries: 0 }
    }

    /// Whether these counts are possible for calls that have the counts `undisturbed` without
    /// faults. Each activation of its agent may make a call once more under the same id if that
    /// does no harm; an unsafe call happens as many times as it was allowed, less those in doubt,
    /// which may not have happened.
    fn may_come_of(&self, undisturbed: &Self) -> bool {
        match self.effect {
            Effect::Pure => true,
            Effect::Idempotent => {
                self.calls == undisturbed.calls
                    && self.times >= undisturbed.times
                    && self.most <= undisturbed.most * self.activations
            }
            Effect::Unsafe => {
                let made = undisturbed.times + self.retries;
                self.calls == undisturbed.calls
                    && (made.saturating_sub(self.doubts)..=made).contains(&self.times)
            }
        }
    }
}

/// Counts what the calls of these transcripts that are not pure did, by tool and arguments. A pure
/// call may run again and again, also in turns that were lost.
pub(crate) fn call_effects<'a>(
    facts: &[Fact],
    items: impl IntoIterator<Item = &'a Item>,
    questions: &[Question],
) -> BTreeMap<String, CallEffects> {
    let turns = items.into_iter().filter_map(|item| match &item.body {
        ItemBody::Turn(turn) => Some(&turn.calls),
        ItemBody::SubCalls(made) => Some(&made.calls),
        _ => None,
    });
    let names: BTreeMap<CallId, String> =
        turns.flatten().map(|call| (call.id, format!("{}{}", call.tool, call.arguments))).collect();
    let mut claims: BTreeMap<AgentId, usize> = BTreeMap::new();
    for fact in facts {
        if let Fact::Claimed { agent, .. } = fact {
            *claims.entry(*agent).or_default() += 1;
        }
    }
    let mut counted: BTreeMap<CallId, CallEffects> = BTreeMap::new();
    for fact in facts {
        let Fact::Effect { agent, call, effect } = fact else { continue };
        if *effect != Effect::Pure {
            let counted = counted.entry(*call).or_insert(CallEffects::none(*effect));
            counted.times += 1;
            counted.activations = claims.get(agent).copied().unwrap_or_default();
        }
    }
    for question in questions.iter().filter(|question| question.about == About::Doubt) {
        // Only unsafe calls are ever in doubt; one that never had its effect counts as well.
        let counted = counted.entry(question.call).or_insert(CallEffects::none(Effect::Unsafe));
        counted.doubts += 1;
        counted.retries += usize::from(question.answer == Some(Answer::Retry));
    }
    let mut by_name: BTreeMap<String, CallEffects> = BTreeMap::new();
    for (call, counted) in counted {
        let name = names.get(&call).map_or("a call that is in no transcript", String::as_str);
        let sum = by_name.entry(name.to_owned()).or_insert(CallEffects::none(counted.effect));
        sum.calls += 1;
        sum.times += counted.times;
        sum.most = sum.most.max(counted.times);
        sum.activations = sum.activations.max(counted.activations);
        sum.doubts += counted.doubts;
        sum.retries += counted.retries;
    }
    by_name
}

/// Verifies that the calls did what they do without faults, as far as that is determined.
///
/// # Errors
/// The call that did something else.
pub(crate) fn same_effects(
    expected: &BTreeMap<String, CallEffects>,
    found: &BTreeMap<String, CallEffects>,
) -> Result<(), String> {
    for (call, like) in expected.iter().chain(found) {
        let of = |told: &BTreeMap<String, CallEffects>| {
            told.get(call).copied().unwrap_or(CallEffects::none(like.effect))
        };
        let (undisturbed, did) = (of(expected), of(found));
        if !did.may_come_of(&undisturbed) {
            return Err(format!("{call} did {undisturbed:?} undisturbed, and now {did:?}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsafe_call_takes_effect_only_as_often_as_expected_or_retried() {
        let did = |times, doubts, retries| CallEffects {
            calls: usize::from(times + doubts > 0),
            times,
            most: times,
            doubts,
            retries,
            ..CallEffects::none(Effect::Unsafe)
        };
        for (found, expected, fits) in [
            (did(1, 0, 0), 1, true),
            (did(0, 0, 0), 1, false),
            (did(2, 0, 0), 1, false),
            (did(0, 1, 0), 1, true),
            (did(1, 1, 1), 1, true),
            (did(2, 1, 1), 1, true),
            (did(0, 1, 1), 1, false),
            (did(3, 1, 1), 1, false),
            // A person rejected it, or has not decided yet.
            (did(1, 0, 0), 0, false),
            (did(0, 0, 0), 0, true),
        ] {
            let undisturbed = did(expected, 0, 0);
            assert_eq!(found.may_come_of(&undisturbed), fits, "{found:?}, {expected} times undisturbed");
        }
    }

    #[test]
    fn an_idempotent_call_repeats_at_most_once_per_activation_and_id() {
        let put =
            |calls, times, most| CallEffects { calls, times, most, ..CallEffects::none(Effect::Idempotent) };
        for (found, undisturbed, activations, fits) in [
            (put(1, 2, 2), put(1, 1, 1), 2, true),
            (put(1, 3, 3), put(1, 1, 1), 2, false),
            (put(1, 3, 3), put(1, 1, 1), 3, true),
            (put(2, 4, 2), put(2, 2, 1), 2, true),
            (put(2, 4, 3), put(2, 2, 1), 2, false),
            (put(0, 0, 0), put(1, 1, 1), 2, false),
            (put(0, 0, 0), put(0, 0, 0), 2, true),
            (put(1, 1, 1), put(0, 0, 0), 2, false),
            // The same again, as another call.
            (put(2, 2, 1), put(1, 1, 1), 2, false),
        ] {
            let found = CallEffects { activations, ..found };
            assert_eq!(found.may_come_of(&undisturbed), fits, "{found:?} of {undisturbed:?}");
        }
    }
}
