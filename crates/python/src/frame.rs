//! What parent and child hand each other: JSON, and a snapshot beside it, each after its length.

use std::borrow::Cow;
use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::confine::Interpreter;
use crate::interpreter::MAX_SNAPSHOT_BYTES;
use crate::progress::Progress;
use crate::record::Record;
use crate::script::Script;

/// Bytes of a request at most, beside its snapshot.
pub(crate) const MAX_REQUEST_BYTES: usize = 64 << 20;

/// Bytes of a reply at most, beside its snapshot: what new calls may take, what is kept of what was printed, and room.
pub(crate) const MAX_REPLY_BYTES: usize = 16 << 20;

/// Bytes before the JSON: its length and the snapshot's.
const LENGTHS: usize = 8;

/// What the parent asks for. The snapshot is beside it. The parent only lends what may be large.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request<'a> {
    pub(crate) script: Cow<'a, Script>,
    pub(crate) record: Cow<'a, Record>,
    /// Where calls are whose values the code awaits: the line, from 1, and the byte within it, from 0. For CPython, whose
    /// process finds them before it hands this on; the built-in interpreter finds them itself.
    pub(crate) awaited: Vec<(u32, u32)>,
    /// Bytes of the reply at most.
    pub(crate) most: usize,
}

/// What the child tells. The snapshot is beside it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// It is ready.
    Ready(Interpreter),
    /// What a run came to.
    Ran {
        progress: Progress,
        /// Whether the process should run nothing more.
        spent: bool,
    },
    /// The record contradicts itself.
    Mistaken(String),
    /// What the run came to has this many bytes, which are too many.
    TooLarge(u64),
}

/// A frame's bytes: a message, and a snapshot if it is not empty. What is longer than the limit is no frame but its
/// length.
pub(crate) fn encode(
    message: &impl Serialize,
    snapshot: &[u8],
    limit: usize,
) -> io::Result<Result<Vec<u8>, u64>> {
    let mut bytes = vec![0; LENGTHS];
    serde_json::to_writer(&mut bytes, message)?;
    if bytes.len() - LENGTHS > limit {
        return Ok(Err(bytes.len() as u64));
    }
    let lengths = [bytes.len() - LENGTHS, snapshot.len()];
    for (place, length) in bytes.chunks_exact_mut(4).zip(lengths) {
        place.copy_from_slice(&u32::try_from(length).map_err(io::Error::other)?.to_le_bytes());
    }
    bytes.extend_from_slice(snapshot);
    Ok(Ok(bytes))
}

/// How long the JSON and the snapshot of a frame are, if that is not too long.
fn lengths(bytes: [u8; LENGTHS], limit: usize) -> io::Result<(usize, usize)> {
    let [a, b, c, d, rest @ ..] = bytes;
    let json = u32::from_le_bytes([a, b, c, d]) as usize;
    let snapshot = u32::from_le_bytes(rest) as usize;
    if json > limit || snapshot > MAX_SNAPSHOT_BYTES {
        let text = format!("a frame of {json} and {snapshot} bytes is too large");
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    Ok((json, snapshot))
}

/// Reads a request, or nothing at the end.
pub(crate) fn read(from: &mut impl Read) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
    let mut head = [0; LENGTHS];
    match from.read_exact(&mut head) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let (json, snapshot) = lengths(head, MAX_REQUEST_BYTES)?;
    let (mut json, mut snapshot) = (vec![0; json], vec![0; snapshot]);
    from.read_exact(&mut json)?;
    from.read_exact(&mut snapshot)?;
    Ok(Some((json, snapshot)))
}

/// Writes a reply, or that it is too large.
pub(crate) fn reply(to: &mut impl Write, reply: &Reply, snapshot: &[u8]) -> io::Result<()> {
    let frame = match encode(reply, snapshot, MAX_REPLY_BYTES)? {
        Ok(frame) => frame,
        Err(bytes) => encode(&Reply::TooLarge(bytes), &[], MAX_REPLY_BYTES)?
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?,
    };
    to.write_all(&frame)?;
    to.flush()
}

/// Reads a reply of at most this many bytes beside its snapshot, which take memory only as they arrive.
pub(crate) async fn receive(
    from: &mut (impl AsyncRead + Unpin),
    most: usize,
) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut head = [0; LENGTHS];
    from.read_exact(&mut head).await?;
    let (json, snapshot) = lengths(head, most)?;
    Ok((receive_exactly(from, json).await?, receive_exactly(from, snapshot).await?))
}

async fn receive_exactly(from: &mut (impl AsyncRead + Unpin), length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(length as u64).read_to_end(&mut bytes).await?;
    if bytes.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}
