//! `approval` in a kind's file: which calls wait for a person's approval.

use entourage_types::{ApprovalRule, Condition, Effect, Verdict};
use serde::Deserialize;

use super::front_matter::Names;

/// A rule, as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    tools: Option<Names>,
    effect: Option<Names>,
    #[serde(default)]
    when: Conditions,
    answer_seconds: Option<u64>,
    otherwise: Option<Verdict>,
}

/// One condition, or several that must all hold. A line is one: its value may have commas.
#[derive(Deserialize)]
#[serde(untagged)]
enum Conditions {
    One(String),
    All(Vec<String>),
}

impl Default for Conditions {
    fn default() -> Self {
        Self::All(Vec::new())
    }
}

impl Written {
    /// Returns the rule, or what is wrong with it. `answer_seconds` is the kind's value for all questions.
    pub(super) fn read(self, answer_seconds: Option<u64>) -> Result<ApprovalRule, String> {
        if self.tools.is_none() && self.effect.is_none() {
            return Err(
                "a rule says which calls wait: give `tools`, such as `bank__*`, or `effect: unsafe`".into()
            );
        }
        let everything = || vec!["*".to_owned()];
        let tools = self.tools.map(Names::into_vec).filter(|tools| !tools.is_empty());
        let effects = self.effect.map(Names::into_vec).unwrap_or_default();
        let effects = effects.iter().map(|word| word.parse()).collect::<Result<Vec<Effect>, _>>()?;
        let when = match self.when {
            Conditions::One(line) => vec![line],
            Conditions::All(lines) => lines,
        };
        let when = when.iter().map(|line| line.parse()).collect::<Result<Vec<Condition>, _>>()?;
        match self.otherwise {
            Some(Verdict::Approve | Verdict::Reject) | None => {}
            Some(other) => return Err(format!("`otherwise` is `approve` or `reject` here, not `{other}`")),
        }
        if self.otherwise.is_some() && self.answer_seconds.or(answer_seconds).is_none() {
            return Err(
                "`otherwise` applies when the time to answer runs out: give `answer_seconds` too".into()
            );
        }
        Ok(ApprovalRule {
            tools: tools.unwrap_or_else(everything),
            effects,
            when,
            answer_seconds: self.answer_seconds,
            otherwise: self.otherwise.unwrap_or(Verdict::Reject),
        })
    }
}
