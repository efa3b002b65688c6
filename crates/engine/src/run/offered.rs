//! What the model is offered: the tools that fit the agent's position, and the stable prefix of its prompt.

use std::sync::Arc;

use entourage_store::{Error as StoreError, Write};
use entourage_types::{Agent, Item, Kind, Sha256, Switches};

use crate::{
    Engine,
    digest::sha256,
    prompt::is_cut,
    servers::OwnerServer,
    toolset::{Holder, Position, Toolset},
};

/// The offer for the agent's current position.
pub(super) struct Offered {
    toolset: Arc<Toolset>,
    position: Position,
    /// Those of the run.
    switches: Switches,
    /// The servers of the owner alone, as the activation found them.
    servers: Vec<OwnerServer>,
    /// The stable prefix, once it has been rendered, and its digest.
    system: Option<(Arc<str>, Sha256)>,
    /// Whether what is new beside the conversation was appended since the last model call.
    has_context: bool,
}

impl Offered {
    /// The offer for an agent with these items of its session, in a run with these switches.
    pub(super) fn new(
        engine: &Engine,
        agent: &Agent,
        kind: &Arc<Kind>,
        items: &[Item],
        switches: &Switches,
    ) -> Self {
        let position = Position::of(agent, kind, items);
        let (switches, servers) = (switches.clone(), engine.owner_servers(&agent.owner));
        let holder = Holder { owner: &agent.owner, switches: &switches, servers: &servers };
        let toolset = engine.offer(kind, position, &holder);
        Self { toolset, position, switches, servers, system: None, has_context: false }
    }

    /// Has the activation use these servers of the owner from here on, whatever becomes of their connections meanwhile.
    pub(super) fn use_servers(&mut self, servers: Vec<OwnerServer>) {
        self.servers = servers;
    }

    pub(super) fn switches(&self) -> &Switches {
        &self.switches
    }

    pub(super) fn tools(&self) -> &Arc<Toolset> {
        &self.toolset
    }

    pub(super) fn position(&self) -> Position {
        self.position
    }

    pub(super) fn system(&self) -> Option<(Arc<str>, Sha256)> {
        self.system.clone()
    }

    /// Keeps the prefix for the session.
    pub(super) fn keep_system(&mut self, system: Arc<str>) -> (Arc<str>, Sha256) {
        let digest = sha256(&system);
        self.system.insert((system, digest)).clone()
    }

    /// Notes that what is new beside the conversation stands before the message that the model answers next.
    pub(super) fn note_context(&mut self) {
        self.has_context = true;
    }

    /// Whether [`note_context`](Self::note_context) was called since the last model call.
    pub(super) fn take_noted_context(&mut self) -> bool {
        std::mem::take(&mut self.has_context)
    }

    /// Begins a session with a run of these switches, and with a prefix of its own.
    pub(super) fn begin_clean(&mut self, switches: &Switches) {
        self.system = None;
        self.switches.clone_from(switches);
    }

    /// Whether the prompt would show an item cut, and the tool that reads a whole item is not on offer yet.
    pub(super) fn needs_reader(&self, item: &Item, kind: &Kind) -> bool {
        !self.position.has_cuts && is_cut(&item.body, kind.limits.max_output_chars)
    }

    /// Returns the write that stores the tools on offer, by which requests are rebuilt; none if they are known
    /// to be stored.
    pub(super) fn keep_tools(&self, engine: &Engine) -> Result<Option<Write>, StoreError> {
        engine.inner.tool_lists.keep(&self.toolset, engine.now())
    }

    /// Offers the tools of the program, or those of the model again.
    pub(super) fn offer_to_program(
        &mut self,
        by_program: bool,
        engine: &Engine,
        agent: &Agent,
        kind: &Arc<Kind>,
    ) {
        self.position.by_program = by_program;
        self.renew(engine, agent, kind);
    }

    /// Determines the position again of an agent with these items of its session, and offers what fits it.
    pub(super) fn renew_position(
        &mut self,
        items: &[Item],
        engine: &Engine,
        agent: &Agent,
        kind: &Arc<Kind>,
    ) {
        let by_program = self.position.by_program;
        self.position = Position { by_program, ..Position::of(agent, kind, items) };
        self.renew(engine, agent, kind);
    }

    /// Offers the tools that exist by now.
    pub(super) fn renew(&mut self, engine: &Engine, agent: &Agent, kind: &Arc<Kind>) {
        let holder = Holder { owner: &agent.owner, switches: &self.switches, servers: &self.servers };
        self.toolset = engine.offer(kind, self.position, &holder);
    }
}
