//! A kind, as the API shows it. Its instructions are the operator's and stay in its file.

use entourage_types::{Input, Kind, Program, Reply};
use serde::Serialize;
use utoipa::ToSchema;

use super::schema;

/// What sort of agent something is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Kind)]
pub(crate) struct KindView {
    /// Its name.
    name: String,
    /// When to use it, in one line.
    description: String,
    /// The model it wants, as `provider::name`; null for the house's choice.
    #[schema(required)]
    model: Option<String>,
    /// The models that are asked instead when it fails for good, in this order.
    fallback: Vec<String>,
    /// The tools it is offered; null for all that need no setting up.
    #[schema(required)]
    tools: Option<Vec<String>>,
    /// Which of its calls wait for a person's leave, each rule in its words.
    approval: Vec<String>,
    /// The program it runs.
    #[schema(value_type = schema::Program)]
    program: Program,
    /// The kinds it may write to and make.
    peers: Vec<String>,
    /// Which of its words are its answer.
    #[schema(value_type = schema::Reply)]
    reply: Reply,
    /// What becomes of a message that comes while it is at work.
    #[schema(value_type = schema::Input)]
    input: Input,
    /// A digest of its file: runs stay with the one they started with.
    version: String,
}

impl From<&Kind> for KindView {
    fn from(kind: &Kind) -> Self {
        Self {
            name: kind.name.clone(),
            description: kind.description.clone(),
            model: kind.model.clone(),
            fallback: kind.fallback.clone(),
            tools: kind.tools.clone(),
            approval: kind.approval.iter().map(ToString::to_string).collect(),
            program: kind.program,
            peers: kind.peers.clone(),
            reply: kind.reply,
            input: kind.input,
            version: kind.version.clone(),
        }
    }
}
