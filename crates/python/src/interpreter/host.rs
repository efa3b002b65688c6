//! What a run knows of the engine: the calls that the code made, and the outcomes that it was given.

use std::collections::{BTreeMap, BTreeSet};

use monty_types::{ExcType, ExtFunctionResult, MontyException, MontyObject};
use serde::{Deserialize, Serialize};

use super::functions::{Asked, agent, read};
use super::values::from_json;
use crate::progress::Progress;
use crate::record::{Call, NewCall, Outcome, Record};

/// Bytes of text that new calls of one run may take together.
pub(crate) const MAX_NEW_BYTES: usize = 4 << 20;

/// What the code waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Waited {
    /// The outcome of a call.
    One(u32),
    /// The outcomes of several, as a list.
    All(Vec<u32>),
    /// The handle of a fork, which is there at once.
    Agent(u32),
    /// `None`, which is there at once.
    Nothing,
}

impl Waited {
    /// The calls without whose outcomes it is not there.
    fn calls(&self) -> &[u32] {
        match self {
            Self::One(number) => std::slice::from_ref(number),
            Self::All(numbers) => numbers,
            Self::Agent(_) | Self::Nothing => &[],
        }
    }
}

/// The part that a later run continues from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// How many calls the code made.
    pub(super) made: u32,
    /// How many outcomes it was given, from the first on.
    pub(super) given: usize,
    /// What its awaitables stand for, by the interpreter's own numbers.
    pub(super) futures: BTreeMap<u32, Waited>,
    /// The forks that it waited for.
    pub(super) waited: BTreeSet<u32>,
}

/// What came of a call of a function.
pub(super) enum Answer {
    /// The code gets this, now or once it is there.
    Waits(Waited),
    /// The code gets an error.
    Raises(MontyException),
    /// The code asks for something else than is on record.
    Diverges(Progress),
}

pub(super) struct Host<'a> {
    record: &'a Record,
    limit: u32,
    pub(super) state: State,
    pub(super) new: Vec<NewCall>,
    new_bytes: usize,
    /// The outcomes that the code was given.
    known: BTreeMap<u32, &'a Outcome>,
}

impl<'a> Host<'a> {
    pub(super) fn new(record: &'a Record, limit: u32, state: State) -> Self {
        let known = record.outcomes.iter().take(state.given);
        Self {
            known: known.map(|(number, outcome)| (*number, outcome)).collect(),
            record,
            limit,
            state,
            new: Vec::new(),
            new_bytes: 0,
        }
    }

    /// The call of this number, if the code made it.
    fn made(&self, number: u32) -> Option<&Call> {
        let place = number as usize;
        let of_record = self.record.calls.len();
        if number >= self.state.made {
            None
        } else if place < of_record {
            self.record.calls.get(place)
        } else {
            self.new.get(place - of_record).map(|new| &new.call)
        }
    }

    /// Takes a call of one of the engine's functions.
    pub(super) fn call(
        &mut self,
        function: &str,
        line: Option<u32>,
        args: Vec<MontyObject>,
        kwargs: Vec<(MontyObject, MontyObject)>,
    ) -> Answer {
        let is_fork = |number| matches!(self.made(number), Some(Call::Fork { .. }));
        let call = match read(function, args, kwargs, is_fork) {
            Ok(Asked::Call(call)) => call,
            Ok(Asked::Wait(number)) => {
                self.state.waited.insert(number);
                return Answer::Waits(Waited::One(number));
            }
            Ok(Asked::WaitAll(numbers)) => {
                self.state.waited.extend(&numbers);
                return Answer::Waits(Waited::All(numbers));
            }
            Err(error) => return Answer::Raises(error),
        };
        let number = self.state.made;
        if number >= self.limit {
            let text =
                format!("this code made more than {} calls of fork, ask_user, emit and tool", self.limit);
            return Answer::Raises(MontyException::new(ExcType::RuntimeError, Some(text)));
        }
        let waited = match &call {
            Call::Fork { .. } => Waited::Agent(number),
            Call::Emit { .. } => Waited::Nothing,
            Call::AskUser { .. } | Call::Tool { .. } => Waited::One(number),
        };
        match self.record.calls.get(number as usize) {
            Some(expected) if !expected.is_repeated_by(&call) => {
                return Answer::Diverges(Progress::Diverged {
                    number,
                    line,
                    expected: expected.clone(),
                    found: Some(call),
                    error: None,
                });
            }
            Some(_) => {}
            None => {
                self.new_bytes += serde_json::to_vec(&call).map_or(MAX_NEW_BYTES, |json| json.len());
                if self.new_bytes > MAX_NEW_BYTES {
                    let text = format!("this code passed more than {MAX_NEW_BYTES} bytes without waiting");
                    return Answer::Raises(MontyException::new(ExcType::RuntimeError, Some(text)));
                }
                self.new.push(NewCall { call, line });
            }
        }
        self.state.made += 1;
        Answer::Waits(waited)
    }

    /// The first call on record that the code, which waits at this line, did not make before.
    pub(super) fn divergence(&self, line: Option<u32>) -> Option<Progress> {
        self.left_out(line, |_| true)
    }

    /// The same for code that has ended. What it reported may have told the time: it may report less than before.
    pub(super) fn divergence_at_end(&self) -> Option<Progress> {
        self.left_out(None, |call| !matches!(call, Call::Emit { .. }))
    }

    /// The first call on record that the code did not make, of those that count.
    fn left_out(&self, line: Option<u32>, counts: impl Fn(&Call) -> bool) -> Option<Progress> {
        let mut left = (self.state.made..).zip(self.record.calls.get(self.state.made as usize..)?);
        let (number, expected) = left.find(|(_, call)| counts(call))?;
        Some(Progress::Diverged { number, line, expected: expected.clone(), found: None, error: None })
    }

    /// Whether the code can be given another outcome.
    pub(super) fn can_give(&self) -> bool {
        self.state.given < self.record.outcomes.len()
    }

    /// Gives the code the next outcome on record, if there is another. Only code that cannot go on is given one: so
    /// when it learns what does not depend on how many there are already.
    pub(super) fn give(&mut self) -> bool {
        let Some((number, outcome)) = self.record.outcomes.get(self.state.given) else {
            return false;
        };
        self.known.insert(*number, outcome);
        self.state.given += 1;
        true
    }

    /// What the code gets for what it waits for, if all of it is there.
    pub(super) fn result(&self, waited: &Waited) -> Option<ExtFunctionResult> {
        let outcomes = waited.calls().iter().map(|number| self.known.get(number).copied());
        let outcomes = outcomes.collect::<Option<Vec<_>>>()?;
        let mut values = Vec::with_capacity(outcomes.len());
        for outcome in outcomes {
            match outcome {
                Outcome::Value(value) => values.push(from_json(value)),
                Outcome::Failed(text) => {
                    return Some(MontyException::new(ExcType::RuntimeError, Some(text.clone())).into());
                }
            }
        }
        let value = match waited {
            Waited::One(_) => values.pop().unwrap_or(MontyObject::None),
            Waited::All(_) => MontyObject::List(values),
            Waited::Agent(number) => agent(*number),
            Waited::Nothing => MontyObject::None,
        };
        Some(value.into())
    }

    /// The calls whose outcomes are missing for this.
    pub(super) fn missing(&self, waited: &Waited) -> Vec<u32> {
        let mut missing: Vec<u32> = waited.calls().to_vec();
        missing.retain(|number| !self.known.contains_key(number));
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    /// The forks that the code never waited for.
    pub(super) fn unawaited(&self) -> Vec<u32> {
        let forked =
            (0..self.state.made).filter(|number| matches!(self.made(*number), Some(Call::Fork { .. })));
        forked.filter(|number| !self.state.waited.contains(number)).collect()
    }
}
