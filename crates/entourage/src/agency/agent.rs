//! An agent: a name, instructions, tools and limits, and the agents it may write to. It is only a definition
//! until its agency opens; from then on it can be called.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use entourage_engine::{self as engine, Program, kinds::bad_name};
use entourage_llm::Model;
use entourage_tools::{Tool, schema_of};
use entourage_types::{Kind, ProgramName, tool_names};
use schemars::JsonSchema;

use super::{Ask, Guardrail, ModelChoice, Streamed, Whole};
use crate::{Error, Result, embedded::AtWork};

/// An agent. Cheap to clone; all clones are the same agent.
#[derive(Clone)]
pub struct Agent {
    inner: Arc<Inner>,
}

struct Inner {
    kind: Kind,
    tools: Vec<Arc<dyn Tool>>,
    guardrails: Vec<(String, Arc<dyn engine::Guardrail>)>,
    program: Option<Arc<dyn Program>>,
    model: Option<Arc<dyn Model>>,
    /// The open agency that it belongs to.
    home: Mutex<Weak<AtWork>>,
}

/// Built-in tools that an agent can have without listing them.
const GIVEN: [&str; 2] = [tool_names::SEND_MESSAGE, tool_names::READ_OUTPUT];

/// Whether providers accept it as the name of a tool.
fn is_tool_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= 64 && name.chars().all(fits)
}

/// Builds an agent.
#[must_use]
pub struct AgentBuilder {
    kind: Kind,
    tools: Vec<Arc<dyn Tool>>,
    guardrails: Vec<(String, Arc<dyn engine::Guardrail>)>,
    program: Option<Arc<dyn Program>>,
    model: Option<Arc<dyn Model>>,
}

impl Agent {
    /// Starts building an agent of this name: 1 to 64 letters, digits, `-` and `_`.
    pub fn builder(name: impl Into<String>) -> AgentBuilder {
        let kind = Kind { tools: Some(Vec::new()), ..Kind::bare(name) };
        AgentBuilder { kind, tools: Vec::new(), guardrails: Vec::new(), program: None, model: None }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.kind.name
    }

    /// Sends a message to the agent and waits for its answer, in a new chat unless one is named. The returned
    /// future has options: see [`Ask`].
    ///
    /// # Errors
    /// [`Error::NoThreads`] when the agent belongs to no open agency; no model is called then. A failed run
    /// is not an error: its [`RunResult`](super::RunResult) holds the error.
    pub fn get_response(&self, message: impl Into<String>) -> Ask<Whole> {
        Ask::new(self.home(), self.name().to_owned(), message.into())
    }

    /// Like [`Agent::get_response`], but streams what happens as it happens.
    ///
    /// # Errors
    /// As for [`Agent::get_response`].
    pub fn get_response_stream(&self, message: impl Into<String>) -> Ask<Streamed> {
        Ask::new(self.home(), self.name().to_owned(), message.into())
    }

    pub(super) fn kind(&self) -> &Kind {
        &self.inner.kind
    }

    pub(super) fn tools(&self) -> &[Arc<dyn Tool>] {
        &self.inner.tools
    }

    pub(super) fn guardrails(&self) -> &[(String, Arc<dyn engine::Guardrail>)] {
        &self.inner.guardrails
    }

    pub(super) fn program(&self) -> Option<&Arc<dyn Program>> {
        self.inner.program.as_ref()
    }

    pub(super) fn model(&self) -> Option<&Arc<dyn Model>> {
        self.inner.model.as_ref()
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    pub(super) fn home(&self) -> Result<Arc<AtWork>> {
        let home = self.inner.home.lock().unwrap_or_else(PoisonError::into_inner);
        let open = home.upgrade().filter(|home| !home.stop.is_cancelled());
        open.ok_or_else(|| Error::NoThreads { agent: self.name().to_owned() })
    }

    /// Binds the agent to this agency until that is closed.
    ///
    /// # Errors
    /// [`Error::Agency`] when it belongs to another open agency.
    pub(super) fn move_in(&self, home: &Arc<AtWork>) -> Result<()> {
        let mut current = self.inner.home.lock().unwrap_or_else(PoisonError::into_inner);
        if current.upgrade().is_some_and(|other| !other.stop.is_cancelled()) {
            return Err(Error::Agency(format!(
                "`{}` belongs to another open agency; close that one first, or build a second agent of this name \
                 for this one",
                self.name()
            )));
        }
        *current = Arc::downgrade(home);
        Ok(())
    }
}

impl AgentBuilder {
    /// Sets its instructions.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.kind.instructions = instructions.into();
        self
    }

    /// Sets one line for the agents that may write to it: what to write to it for.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.kind.description = description.into();
        self
    }

    /// Sets its model: a name, `provider::name`, or one of your own in an [`Arc`]. The default is the
    /// agency's model.
    pub fn model(mut self, model: impl Into<ModelChoice>) -> Self {
        match model.into() {
            ModelChoice::Named(name) => self.kind.model = Some(name),
            ModelChoice::Own(model) => self.model = Some(model),
        }
        self
    }

    /// Sets the sampling temperature, 0 to 2; the provider's default otherwise.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.kind.temperature = Some(temperature);
        self
    }

    /// Adds a tool, such as a [`function_tool`](super::function_tool).
    pub fn tool(mut self, tool: impl Tool) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Adds built-in tools by name: `web_search`, `fetch_url`, `create_note`, `ask_user`…
    pub fn built_in<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.kind.tools.get_or_insert_default().extend(names.into_iter().map(str::to_owned));
        self
    }

    /// Adds agents it may write to, by name, to those that the agency's flows allow.
    pub fn can_message<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.kind.peers.extend(names.into_iter().map(str::to_owned));
        self
    }

    /// Adds a guardrail that its answer must pass before it is returned. A refused answer goes back to the
    /// model once, with the reason; a second refusal ends the run with `validation_failed`.
    pub fn response_validator(self, validator: Guardrail) -> Self {
        self.output_guardrail(validator)
    }

    /// Adds a guardrail that every message to it must pass; a refusal ends the run. See
    /// [`Guardrail::parallel`].
    pub fn input_guardrail(mut self, guardrail: Guardrail) -> Self {
        let Guardrail { name, check, is_parallel } = guardrail;
        let guardrails = &mut self.kind.guardrails;
        if is_parallel { &mut guardrails.parallel } else { &mut guardrails.input }.push(name.clone());
        self.guardrails.push((name, check));
        self
    }

    /// The same as [`AgentBuilder::response_validator`]; an agent may have several of either.
    pub fn output_guardrail(mut self, guardrail: Guardrail) -> Self {
        self.kind.guardrails.output.push(guardrail.name.clone());
        self.guardrails.push((guardrail.name, guardrail.check));
        self
    }

    /// Sets the program that drives its runs, in place of the loop of model and tools.
    pub fn program(mut self, program: impl Program) -> Self {
        self.kind.program = ProgramName::new(&self.kind.name);
        self.program = Some(Arc::new(program));
        self
    }

    /// Limits the model calls of one run; 25 by default.
    pub fn max_steps(mut self, steps: u32) -> Self {
        self.kind.limits.max_steps = steps;
        self
    }

    /// Makes its answer JSON of this type.
    pub fn output_type<T: JsonSchema>(mut self) -> Self {
        self.kind.output_schema = Some(schema_of::<T>());
        self
    }

    /// Changes any other field of its kind: limits, approvals, what its model sees.
    pub fn configure(mut self, change: impl FnOnce(&mut Kind)) -> Self {
        change(&mut self.kind);
        self
    }

    /// Returns the agent.
    ///
    /// # Errors
    /// [`Error::Agency`] for an invalid name of the agent or of a tool, a temperature out of range, an agent
    /// that writes to itself, or two tools of one name.
    pub fn build(self) -> Result<Agent> {
        let Self { kind, tools, guardrails, program, model } = self;
        let name = &kind.name;
        if let Some(why) = bad_name(name) {
            return Err(Error::Agency(why));
        }
        if kind.temperature.is_some_and(|temperature| !(0.0..=2.0).contains(&temperature)) {
            return Err(Error::Agency(format!("{name}: the temperature must be between 0 and 2")));
        }
        if kind.peers.contains(name) {
            return Err(Error::Agency(format!("{name} cannot write to itself; name another agent")));
        }
        if let Some(wrong) = tools.iter().map(|tool| tool.name()).find(|tool| !is_tool_name(tool)) {
            return Err(Error::Agency(format!(
                "{name}: `{wrong}` is no name for a tool: use 1 to 64 letters, digits, `-` and `_`"
            )));
        }
        let built_in = kind.tools.iter().flatten().map(String::as_str).chain(GIVEN);
        let own = tools.iter().map(|tool| tool.name());
        if let Some(taken) = built_in.into_iter().find(|built_in| own.clone().any(|own| own == *built_in)) {
            return Err(Error::Agency(format!(
                "{name}: `{taken}` is the name of a built-in tool of this agent, too; give yours another"
            )));
        }
        let mut names: Vec<&str> = own.collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|two| two[0] == two[1]) {
            return Err(Error::Agency(format!(
                "{name} has two tools of the name `{}`; rename one",
                twice[0]
            )));
        }
        let inner = Inner { kind, tools, guardrails, program, model, home: Mutex::default() };
        Ok(Agent { inner: Arc::new(inner) })
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("name", &self.name()).finish_non_exhaustive()
    }
}
