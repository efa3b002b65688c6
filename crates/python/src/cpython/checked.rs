//! What the parent demands of a reply: code in CPython shares its process with what replies, and could reply anything.

use std::collections::BTreeSet;

use crate::interpreter::MAX_CALL_BYTES;
use crate::progress::{Ended, Progress};
use crate::record::{Call, NewCall, Record};
use crate::script::Limits;

/// Bytes of an error at most: its class, message, traceback and hint.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// How many calls a run waits for at most, in all groups: more than any code has use for.
const MAX_AWAITED: usize = 10_000;

/// What is wrong with what a run is said to have come to, if anything is.
pub(crate) fn check(progress: &Progress, record: &Record, limits: &Limits) -> Result<(), String> {
    match progress {
        Progress::Ended(ended) => {
            calls(&ended.calls, record, limits)?;
            end(ended, record, limits)
        }
        Progress::Blocked { calls: new, awaits, .. } => {
            calls(new, record, limits)?;
            if awaits.is_empty() || awaits.iter().any(Vec::is_empty) {
                return Err("it waits for nothing".to_owned());
            }
            // Code may wait for the same at many places.
            let awaited = awaits.iter().collect::<BTreeSet<_>>().into_iter().map(Vec::len).sum::<usize>();
            if awaited > MAX_AWAITED {
                return Err(format!("it waits for {awaited} calls at once"));
            }
            let known: BTreeSet<u32> = record.outcomes.iter().map(|(number, _)| *number).collect();
            let waits = |number: &u32| !known.contains(number) && has_outcome(*number, new, record);
            match awaits.iter().flatten().find(|number| !waits(number)) {
                Some(number) => Err(format!("it waits for call {number}, of which nothing will come")),
                None => Ok(()),
            }
        }
        Progress::Diverged { number, expected, .. } => match record.calls.get(*number as usize) {
            Some(call) if call == expected => Ok(()),
            _ => Err(format!("call {number} is not on record like this")),
        },
    }
}

/// The call of this number, on record or new.
fn call<'a>(number: u32, new: &'a [NewCall], record: &'a Record) -> Option<&'a Call> {
    let number = number as usize;
    let later = number.checked_sub(record.calls.len());
    later.map_or_else(|| record.calls.get(number), |later| new.get(later).map(|new| &new.call))
}

/// Whether a call ever has an outcome for code.
fn has_outcome(number: u32, new: &[NewCall], record: &Record) -> bool {
    call(number, new, record).is_some_and(|call| !matches!(call, Call::Emit { .. }))
}

fn calls(new: &[NewCall], record: &Record, limits: &Limits) -> Result<(), String> {
    if !new.is_empty() && record.calls.len() + new.len() > limits.calls as usize {
        return Err(format!("it makes more than {} calls", limits.calls));
    }
    let size = |new: &NewCall| serde_json::to_vec(&new.call).map_or(usize::MAX, |json| json.len());
    match new.iter().map(size).find(|size| *size > MAX_CALL_BYTES) {
        Some(size) => Err(format!("a call has {size} bytes")),
        None => Ok(()),
    }
}

fn end(ended: &Ended, record: &Record, limits: &Limits) -> Result<(), String> {
    let value = ended.value.as_ref().map_or(0, String::len);
    if ended.stdout.len().max(value) > limits.output_bytes {
        return Err("it printed more than is kept".to_owned());
    }
    let error = ended.error.as_ref().map_or(0, |error| {
        let hint = error.hint.as_ref().map_or(0, String::len);
        error.kind.len() + error.message.len() + error.traceback.len() + hint
    });
    if error > MAX_ERROR_BYTES {
        return Err(format!("its error has {error} bytes"));
    }
    let is_fork = |number: &u32| matches!(call(*number, &ended.calls, record), Some(Call::Fork { .. }));
    match ended.unawaited.iter().find(|number| !is_fork(number)) {
        Some(number) => Err(format!("call {number} is no fork")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_waits_for_a_bounded_number_of_calls() {
        let fork = NewCall { call: Call::Fork { prompt: "A".into(), kind: None }, line: None };
        let waits = |awaits| Progress::Blocked { calls: vec![fork.clone()], awaits, snapshot: None };
        let check = |progress| check(&progress, &Record::default(), &Limits::default());
        assert_eq!(check(waits(vec![vec![0]])), Ok(()));
        let at_once = Err("it waits for 10001 calls at once".to_owned());
        assert_eq!(check(waits(vec![vec![0; MAX_AWAITED + 1]])), at_once);
        assert_eq!(check(waits(vec![vec![0]; MAX_AWAITED + 1])), Ok(()));
    }
}
