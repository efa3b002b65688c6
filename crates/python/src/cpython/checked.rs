//! What the parent demands of a reply: code in CPython shares its process with what replies, and could reply anything.

use std::collections::BTreeSet;

use crate::frame::MAX_REPLY_BYTES;
use crate::interpreter::{MAX_CALL_BYTES, MAX_NEW_BYTES};
use crate::progress::{Ended, Progress, PythonError};
use crate::record::{Call, NewCall, Record};
use crate::script::Limits;

/// Bytes of an error at most: its class, message, traceback and hint.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// Bytes of a reply at most, as JSON: its calls and what it waits for, and, where each character takes six bytes, what it
/// printed, its value and its error.
pub(crate) const fn max_reply_bytes(limits: &Limits) -> usize {
    let most = MAX_NEW_BYTES + (1 << 20) + 6 * (2 * limits.output_bytes + MAX_ERROR_BYTES);
    if most < MAX_REPLY_BYTES { most } else { MAX_REPLY_BYTES }
}

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
            let known: BTreeSet<u32> = record.outcomes.iter().map(|(number, _)| *number).collect();
            let waits = |number: &u32| !known.contains(number) && has_outcome(*number, new, record);
            match awaits.iter().flatten().find(|number| !waits(number)) {
                Some(number) => Err(format!("it waits for call {number}, of which nothing will come")),
                None => Ok(()),
            }
        }
        Progress::Diverged { number, expected, error, .. } => match record.calls.get(*number as usize) {
            Some(call) if call == expected => error.as_deref().map_or(Ok(()), fits),
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
    ended.error.as_ref().map_or(Ok(()), fits)?;
    let is_fork = |number: &u32| matches!(call(*number, &ended.calls, record), Some(Call::Fork { .. }));
    match ended.unawaited.iter().find(|number| !is_fork(number)) {
        Some(number) => Err(format!("call {number} is no fork")),
        None => Ok(()),
    }
}

/// Whether an error is no longer than one may be.
fn fits(error: &PythonError) -> Result<(), String> {
    let hint = error.hint.as_ref().map_or(0, String::len);
    let bytes = error.kind.len() + error.message.len() + error.traceback.len() + hint;
    if bytes > MAX_ERROR_BYTES { Err(format!("its error has {bytes} bytes")) } else { Ok(()) }
}
