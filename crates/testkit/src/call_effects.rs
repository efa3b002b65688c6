//! What a story's calls did beside their outputs: how often each had its effect, and what a person
//! said where nobody knew.

use std::collections::BTreeMap;

use entourage_tools::Effect;
use entourage_types::{About, CallId, Item, ItemBody, Question};

use crate::Fact;

/// What the calls of one tool with the same arguments did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallEffects {
    /// Their class.
    pub effect: Effect,
    /// How often they had their effect.
    pub times: usize,
    /// How often a person was asked whether an interrupted one had it.
    pub doubts: usize,
    /// How often that person had it made again.
    pub retries: usize,
}

impl CallEffects {
    /// Whether this may come of calls that have their effect `expected` times when nothing is
    /// interrupted. A call that is not to be made is made at no moment; an unsafe one happens as often as
    /// it was let happen, less those that were in doubt and may not have.
    pub(crate) fn may_come_of(&self, expected: usize) -> bool {
        match self.effect {
            Effect::Pure => true,
            Effect::Idempotent => self.times >= expected && (expected > 0 || self.times == 0),
            Effect::Unsafe => {
                let made = expected + self.retries;
                (made.saturating_sub(self.doubts)..=made).contains(&self.times)
            }
        }
    }
}

/// What the calls of these transcripts did that are not pure, by tool and arguments. A pure one may
/// run again and again, also in turns that were lost.
pub(crate) fn call_effects<'a>(
    facts: &[Fact],
    items: impl IntoIterator<Item = &'a Item>,
    questions: &[Question],
) -> BTreeMap<String, CallEffects> {
    let turns = items.into_iter().filter_map(|item| match &item.body {
        ItemBody::Turn(turn) => Some(&turn.calls),
        _ => None,
    });
    let names: BTreeMap<CallId, String> =
        turns.flatten().map(|call| (call.id, format!("{}{}", call.tool, call.arguments))).collect();
    let mut counted: BTreeMap<CallId, CallEffects> = BTreeMap::new();
    for fact in facts {
        let Fact::Effect { call, effect, .. } = fact else { continue };
        if *effect != Effect::Pure {
            let new = CallEffects { effect: *effect, times: 0, doubts: 0, retries: 0 };
            counted.entry(*call).or_insert(new).times += 1;
        }
    }
    for question in questions.iter().filter(|question| question.about == About::Doubt) {
        // Only unsafe calls are ever in doubt; one that never had its effect counts as well.
        let new = CallEffects { effect: Effect::Unsafe, times: 0, doubts: 0, retries: 0 };
        let counted = counted.entry(question.call).or_insert(new);
        counted.doubts += 1;
        counted.retries += usize::from(question.answer.as_deref() == Some("retry"));
    }
    let mut by_name: BTreeMap<String, CallEffects> = BTreeMap::new();
    for (call, counted) in counted {
        let name = names.get(&call).map_or("a call that is in no transcript", String::as_str);
        by_name
            .entry(name.to_owned())
            .and_modify(|sum| {
                sum.times += counted.times;
                sum.doubts += counted.doubts;
                sum.retries += counted.retries;
            })
            .or_insert(counted);
    }
    by_name
}

/// Whether the calls did what they do undisturbed, as far as a fault leaves that certain.
///
/// # Errors
/// The call that did something else.
pub(crate) fn same_effects(
    expected: &BTreeMap<String, CallEffects>,
    found: &BTreeMap<String, CallEffects>,
) -> Result<(), String> {
    let none = |like: &CallEffects| CallEffects { times: 0, doubts: 0, retries: 0, ..*like };
    for (call, like) in expected.iter().chain(found) {
        let times = expected.get(call).map_or(0, |did| did.times);
        let did = found.get(call).copied().unwrap_or_else(|| none(like));
        if !did.may_come_of(times) {
            return Err(format!("{call} had its effect {times} times undisturbed, and now: {did:?}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsafe_call_happens_as_often_as_it_was_let_happen() {
        let did = |times, doubts, retries| CallEffects { effect: Effect::Unsafe, times, doubts, retries };
        for (did, expected, fits) in [
            (did(1, 0, 0), 1, true),
            (did(0, 0, 0), 1, false),
            (did(2, 0, 0), 1, false),
            (did(0, 1, 0), 1, true),
            (did(1, 1, 1), 1, true),
            (did(2, 1, 1), 1, true),
            (did(0, 1, 1), 1, false),
            (did(3, 1, 1), 1, false),
            // It was rejected, or nobody has said anything yet.
            (did(1, 0, 0), 0, false),
            (did(0, 0, 0), 0, true),
        ] {
            assert_eq!(did.may_come_of(expected), fits, "{did:?}, {expected} times undisturbed");
        }
        let put = |times| CallEffects { effect: Effect::Idempotent, times, doubts: 0, retries: 0 };
        for (times, expected, fits) in [(2, 1, true), (0, 1, false), (0, 0, true), (1, 0, false)] {
            assert_eq!(put(times).may_come_of(expected), fits, "{times} times, {expected} undisturbed");
        }
    }
}
