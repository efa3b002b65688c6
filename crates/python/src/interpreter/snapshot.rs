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
    /// Digest of the code and its limits.
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
    record: &Record,
    new: &[NewCall],
    held: Held,
    progress: &RunProgress,
) -> Option<Vec<u8>> {
    let head = head(script, record, new, held)?;
    let head = serde_json::to_vec(&head).ok()?;
    let dump = dump(progress)?;
    let length = u32::try_from(head.len()).ok()?;
    let mut bytes = Vec::with_capacity(MAGIC.len() + DIGEST_BYTES + 4 + head.len() + dump.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&[0; DIGEST_BYTES]);
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&head);
    bytes.extend_from_slice(&dump);
    let digest = Sha256::digest(&bytes[MAGIC.len() + DIGEST_BYTES..]);
    bytes[MAGIC.len()..MAGIC.len() + DIGEST_BYTES].copy_from_slice(&digest);
    (bytes.len() <= MAX_SNAPSHOT_BYTES).then_some(bytes)
}

/// The run that a snapshot is of, if it is one of this script, version, and of a beginning of this record.
pub(super) fn load(script: &Script, record: &Record, snapshot: &[u8]) -> Option<(Held, RunProgress)> {
    let rest = snapshot.strip_prefix(MAGIC)?;
    let (digest, rest) = rest.split_at_checked(DIGEST_BYTES)?;
    if Sha256::digest(rest).as_slice() != digest {
        return None;
    }
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (head_bytes, dump) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let found: Head = serde_json::from_slice(head_bytes).ok()?;
    let expected = head(script, record, &[], found.held)?;
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

fn head(script: &Script, record: &Record, new: &[NewCall], held: Held) -> Option<Head> {
    let made = held.state.made as usize;
    let calls = record.calls.iter().chain(new.iter().map(|new| &new.call));
    let calls: Vec<&Call> = calls.take(made).collect();
    if calls.len() < made {
        return None;
    }
    let outcomes = record.outcomes.get(..held.state.given)?;
    Some(Head {
        // What is done to the code before it runs is this version's own.
        interpreter: (
            format!("{} {}", monty_types::MONTY_VERSION, env!("CARGO_PKG_VERSION")),
            monty::DUMP_VERSION,
        ),
        script: digest(&(&script.code, &script.limits))?,
        calls: digest(&calls)?,
        outcomes: digest(outcomes)?,
        held,
    })
}

fn digest(value: &(impl Serialize + ?Sized)) -> Option<String> {
    let json = serde_json::to_vec(value).ok()?;
    Some(Sha256::digest(json).iter().map(|byte| format!("{byte:02x}")).collect())
}
