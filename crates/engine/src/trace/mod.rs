//! Spans of what agents do: one trace for each tree, whichever process did which part of it.
//!
//! A span is emitted when what it is about has ended. All that identifies it is derived from ids on record:
//! the trace from the tree's root, a run's span from the run, a call's from the call. So a span names its
//! parent without any context to pass on, also after a restart and on another node.

pub mod gen_ai;

use entourage_types::{AgentId, CallId, RunId, Time};

/// Receives spans. It must not block: it is called between two steps of a run.
pub trait Tracer: Send + Sync + 'static {
    /// Takes a span that has ended.
    fn ended(&self, span: Span);

    /// Whether spans hold content: what models answered, what tools were called with and returned.
    fn wants_content(&self) -> bool {
        false
    }
}

/// One operation, with its begin and its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// The tree it belongs to.
    pub trace: TraceId,
    /// Its id in the trace.
    pub id: SpanId,
    /// The span that it was done for; none if a person requested it.
    pub parent: Option<SpanId>,
    /// Its name.
    pub name: String,
    /// Whether it called another system and waited for the answer.
    pub remote: bool,
    /// When it began.
    pub began: Time,
    /// When it ended.
    pub ended: Time,
    /// Its attributes, under the names of [`gen_ai`].
    pub attributes: Vec<(&'static str, Value)>,
    /// The error, if it failed.
    pub error: Option<String>,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A count.
    Count(u64),
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

/// The trace of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId([u8; 16]);

impl TraceId {
    /// The trace of the tree with this root.
    #[must_use]
    pub fn of(root: AgentId) -> Self {
        Self(*root.uuid().as_bytes())
    }
}

/// A span in its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId([u8; 8]);

impl SpanId {
    /// The span of a run.
    #[must_use]
    pub fn of_run(run: RunId) -> Self {
        Self::random_half(*run.uuid().as_bytes())
    }

    /// The span of a call of a tool: the parent of the spans of what the call delegated.
    #[must_use]
    pub fn of_call(call: CallId) -> Self {
        Self::random_half(*call.uuid().as_bytes())
    }

    /// The span of one request to a model, or of what a program did itself. It has no children, so that no other span has
    /// to name it.
    #[must_use]
    pub fn of_request(run: RunId, key: &str, began: Time) -> Self {
        // FNV-1a.
        let text = format!("{run}/{key}/{}", began.micros());
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(hash.to_be_bytes())
    }

    /// The half of an id that is not its time.
    fn random_half(id: [u8; 16]) -> Self {
        let [_, _, _, _, _, _, _, _, half @ ..] = id;
        Self(half)
    }
}

macro_rules! hex {
    ($($name:ident)+) => {$(
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    )+};
}
hex! { TraceId SpanId }
