//! The state of a run that waits, as bytes.
//!
//! A snapshot saves running the code again; it is never needed. So whatever is not certainly the state of the same
//! code, record and version is no error, but no snapshot.

use monty::RunProgress;
use postcard::ser_flavors::Flavor;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::host::{State, Waited};
use super::output::Output;
use crate::code::Prepared;
use crate::record::{Call, NewCall, Record};
use crate::script::Script;

/// Bytes of a snapshot at most; a run whose state is larger has none.
pub const MAX_SNAPSHOT_BYTES: usize = 4 << 20;

/// What a snapshot begins with; its last byte is the version of the format.
const MAGIC: &[u8; 8] = b"ENTPYTH\x01";
const DIGEST_BYTES: usize = 32;

/// The first part of a snapshot: what it belongs to, and what the interpreter does not hold.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    /// The interpreter's version, and that of its dumps.
    interpreter: (String, u16),
    /// Digest of the code, its limits, and the code as it is prepared: builds of one version may prepare it otherwise.
    script: String,
    /// Digest of the calls that the code made.
    calls: String,
    /// Digest of the outcomes that it was given.
    outcomes: String,
    held: Held,
}

/// What a run holds beside the interpreter.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Held {
    pub(super) state: State,
    pub(super) output: Output,
    /// What the code waits for in place, none if it waits for awaitables.
    pub(super) waited: Option<Waited>,
}

/// The snapshot of a run that waits, if it is not too large. `new` are the calls that are not in the record.
pub(super) fn save(
    script: &Script,
    prepared: &Prepared,
    record: &Record,
    new: &[NewCall],
    held: Held,
    progress: &RunProgress,
) -> Option<Vec<u8>> {
    let head = head(script, prepared, record, new, held)?;
    joined(&head, &dump(progress)?)
}

/// The bytes of a snapshot, if they are not too many.
fn joined(head: &Head, dump: &[u8]) -> Option<Vec<u8>> {
    let head = serde_json::to_vec(head).ok()?;
    let length = u32::try_from(head.len()).ok()?;
    let mut bytes = Vec::with_capacity(MAGIC.len() + DIGEST_BYTES + 4 + head.len() + dump.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&[0; DIGEST_BYTES]);
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&head);
    bytes.extend_from_slice(dump);
    let digest = Sha256::digest(&bytes[MAGIC.len() + DIGEST_BYTES..]);
    bytes[MAGIC.len()..MAGIC.len() + DIGEST_BYTES].copy_from_slice(&digest);
    (bytes.len() <= MAX_SNAPSHOT_BYTES).then_some(bytes)
}

/// The run that a snapshot is of, if it is one of this script, version, and of a beginning of this record.
pub(super) fn load(
    script: &Script,
    prepared: &Prepared,
    record: &Record,
    snapshot: &[u8],
) -> Option<(Held, RunProgress)> {
    let (found, dump) = parts(snapshot)?;
    let expected = head(script, prepared, record, &[], found.held)?;
    let same = found.interpreter == expected.interpreter
        && found.script == expected.script
        && found.calls == expected.calls
        && found.outcomes == expected.outcomes;
    if !same {
        return None;
    }
    let progress = postcard::from_bytes(dump).ok()?;
    Some((expected.held, progress))
}

/// The head of a snapshot, and the interpreter's state, if it is one and whole.
fn parts(snapshot: &[u8]) -> Option<(Head, &[u8])> {
    let rest = snapshot.strip_prefix(MAGIC)?;
    let (digest, rest) = rest.split_at_checked(DIGEST_BYTES)?;
    if Sha256::digest(rest).as_slice() != digest {
        return None;
    }
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (head, dump) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    Some((serde_json::from_slice(head).ok()?, dump))
}

/// A run as it would be if it went on from a snapshot taken now: objects that are made later have the same `id`.
pub(super) fn reloaded(progress: RunProgress) -> RunProgress {
    let loaded = dump(&progress).and_then(|dump| postcard::from_bytes(&dump).ok());
    loaded.unwrap_or(progress)
}

/// The interpreter's state as bytes, if they are not too many.
fn dump(progress: &RunProgress) -> Option<Vec<u8>> {
    postcard::serialize_with_flavor(progress, Bounded(Vec::new())).ok()
}

/// Bytes that stop before they are too many: a state that is too large takes no more memory than a snapshot.
struct Bounded(Vec<u8>);

impl Flavor for Bounded {
    type Output = Vec<u8>;

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.try_extend(&[byte])
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        if self.0.len() + bytes.len() > MAX_SNAPSHOT_BYTES {
            return Err(postcard::Error::SerializeBufferFull);
        }
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<Vec<u8>> {
        Ok(self.0)
    }
}

fn head(script: &Script, prepared: &Prepared, record: &Record, new: &[NewCall], held: Held) -> Option<Head> {
    let made = held.state.made as usize;
    let calls = record.calls.iter().chain(new.iter().map(|new| &new.call));
    let calls: Vec<&Call> = calls.take(made).collect();
    if calls.len() < made {
        return None;
    }
    let outcomes = record.outcomes.get(..held.state.given)?;
    Some(Head {
        // What a call means, and what it returns, is this version's own.
        interpreter: (
            format!("{} {}", monty_types::MONTY_VERSION, env!("CARGO_PKG_VERSION")),
            monty::DUMP_VERSION,
        ),
        script: digest(&(&script.code, &script.limits, prepared))?,
        calls: digest(&calls)?,
        outcomes: digest(outcomes)?,
        held,
    })
}

fn digest(value: &(impl Serialize + ?Sized)) -> Option<String> {
    let json = serde_json::to_vec(value).ok()?;
    Some(Sha256::digest(json).iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreter::run;
    use crate::progress::Progress;
    use crate::record::Outcome;

    fn tool(name: &str) -> Call {
        Call::Tool { name: name.to_owned(), arguments: serde_json::Map::new() }
    }

    fn outcome(number: u32, text: &str) -> (u32, Outcome) {
        (number, Outcome::Value(text.into()))
    }

    /// Code that waits for its second call, what is on record by then, and its state.
    fn waiting() -> (Script, Record, Vec<u8>) {
        let script = Script::new("x = tool('t')\ny = tool('u')\nprint(x, y)");
        let mut record = Record { calls: vec![tool("t")], outcomes: vec![outcome(0, "r")] };
        let Progress::Blocked { snapshot: Some(snapshot), .. } = run(&script, &record, None).unwrap() else {
            panic!("it has no state");
        };
        record.calls.push(tool("u"));
        (script, record, snapshot)
    }

    fn is_loaded(script: &Script, record: &Record, snapshot: &[u8]) -> bool {
        load(script, &Prepared::new(&script.code), record, snapshot).is_some()
    }

    /// A snapshot whose head was changed, with the digest that belongs to it.
    fn with_head(snapshot: &[u8], change: impl FnOnce(&mut Head)) -> Vec<u8> {
        let (mut head, dump) = parts(snapshot).unwrap();
        change(&mut head);
        joined(&head, dump).unwrap()
    }

    #[test]
    fn a_state_is_loaded_for_its_own_code_and_record_and_for_no_other() {
        let (script, record, snapshot) = waiting();
        assert!(is_loaded(&script, &record, &snapshot));
        let more = Record { outcomes: vec![outcome(0, "r"), outcome(1, "s")], ..record.clone() };
        assert!(is_loaded(&script, &more, &snapshot));

        let other_code = Script::new(format!("{}\n", script.code));
        let mut other_limits = script.clone();
        other_limits.limits.calls += 1;
        for other in [other_code, other_limits] {
            assert!(!is_loaded(&other, &record, &snapshot), "{other:?}");
        }
        let calls = |calls| Record { calls, ..record.clone() };
        let outcomes = |outcomes| Record { outcomes, ..record.clone() };
        for other in [
            calls(vec![tool("t"), tool("v")]),
            calls(vec![tool("t")]),
            outcomes(vec![outcome(0, "other")]),
            outcomes(vec![outcome(1, "r")]),
            outcomes(Vec::new()),
        ] {
            assert!(!is_loaded(&script, &other, &snapshot), "{other:?}");
        }
    }

    #[test]
    fn a_state_of_another_interpreter_is_none() {
        let (script, record, snapshot) = waiting();
        assert!(is_loaded(&script, &record, &with_head(&snapshot, |_| ())));
        let version = with_head(&snapshot, |head| head.interpreter.0.push('1'));
        let format = with_head(&snapshot, |head| head.interpreter.1 += 1);
        for other in [version, format] {
            assert!(!is_loaded(&script, &record, &other));
        }
    }

    #[test]
    fn a_state_of_code_that_was_prepared_otherwise_is_none() {
        let (script, record, snapshot) = waiting();
        let mut prepared = Prepared::new(&script.code);
        assert!(load(&script, &prepared, &record, &snapshot).is_some());
        prepared.text.push('\n');
        assert!(load(&script, &prepared, &record, &snapshot).is_none());
    }

    #[test]
    fn bytes_that_are_no_state_of_the_interpreter_are_none_even_with_their_digest() {
        let (script, record, snapshot) = waiting();
        let dump = parts(&snapshot).unwrap().1;
        for garbage in [&[][..], &[7; 5000], &[0xff; 5000], &dump[1..], &dump[..dump.len() - 1]] {
            let bytes = joined(&parts(&snapshot).unwrap().0, garbage).unwrap();
            assert!(!is_loaded(&script, &record, &bytes), "{} bytes", garbage.len());
        }
    }

    /// Only a state can know what the code never printed.
    #[test]
    fn a_run_goes_on_from_its_state() {
        let (script, mut record, snapshot) = waiting();
        record.outcomes.push(outcome(1, "s"));
        let marked = with_head(&snapshot, |head| head.held.output.text.push_str("from its state\n"));
        for (snapshot, printed) in [(None, "r s\n"), (Some(&*marked), "from its state\nr s\n")] {
            let Progress::Ended(ended) = run(&script, &record, snapshot).unwrap() else { panic!("no end") };
            assert_eq!(ended.stdout, printed);
        }
    }
}
