//! From the events of a tree, and the pieces of answers in progress, to the chunks of its stream.

use std::collections::{BTreeMap, HashMap, HashSet};

use entourage_types::{
    Action, AgentId, AgentState, Annotations, CallId, Event, EventBody, InterventionId, Item, ItemBody,
    Level, Output, Question, QuestionId, QuestionStatus, Record, Run, RunId, ShownState, StopReason, Turn,
    Unread, Usage,
};
use serde::Deserialize;
use serde_json::json;

use super::{
    chunk::{Arguments, Chunk, FinishReason, NoData, Response, ResultMetadata, Subagent},
    in_progress::{Answer, Sent},
    position::AnswerSoFar,
};
use crate::AgentDelta;

/// Renders an agent and all below it. What it returns for an event depends on the events before it, and on which runs
/// there are, alone; but for the text of an answer, of which a part may have been sent.
pub(super) struct Renderer {
    top: AgentId,
    agents: HashMap<AgentId, View>,
    /// The answers in progress. They are few, whereas a tree may have many agents.
    answers: BTreeMap<AgentId, Answer>,
    /// What the runs have used.
    usage: HashMap<RunId, Usage>,
    /// What stands in place of a run in items that no run wrote: an agent was given them.
    given: HashSet<RunId>,
    questions: HashMap<QuestionId, QuestionStatus>,
    modified: HashSet<InterventionId>,
    /// Why the followed agent failed last.
    failure: Option<String>,
    last: Option<Response>,
}

/// What is known of an agent.
struct View {
    /// How callers know it.
    name: String,
    /// The state that was sent last.
    state: Option<AgentState>,
    /// Its own state, which a person may have another one shown for.
    own: AgentState,
    /// What a person wanted shown last.
    shown: Option<ShownState>,
    /// The number of the next item that is not rendered.
    next: u64,
    /// The calls that have not returned.
    calls: HashMap<CallId, Arguments>,
}

impl Renderer {
    pub(super) fn new(top: AgentId) -> Self {
        Self {
            top,
            agents: HashMap::new(),
            answers: BTreeMap::new(),
            usage: HashMap::new(),
            given: HashSet::new(),
            questions: HashMap::new(),
            modified: HashSet::new(),
            failure: None,
            last: None,
        }
    }

    /// The agent that an event creates, if it is to be followed and is not yet.
    pub(super) fn newcomer(&self, event: &Event) -> Option<AgentId> {
        let EventBody::AgentCreated { parent, .. } = &event.body else { return None };
        let is_below = parent.is_some_and(|parent| self.agents.contains_key(&parent));
        let is_followed = event.agent == self.top || is_below;
        (is_followed && !self.agents.contains_key(&event.agent)).then_some(event.agent)
    }

    /// Follows an agent, under this name.
    pub(super) fn follow(&mut self, agent: AgentId, name: String) {
        let blank = || View {
            name,
            state: None,
            own: AgentState::Running,
            shown: None,
            next: 0,
            calls: HashMap::new(),
        };
        self.agents.entry(agent).or_insert_with(blank);
    }

    /// The run that is to have written what an event would show, if no event before it tells whether there is such a
    /// run.
    pub(super) fn unknown_run(&self, event: &Event) -> Option<RunId> {
        let EventBody::Item { item: Some(item), .. } = &event.body else { return None };
        let shows = matches!(item.body, ItemBody::Turn(_) | ItemBody::Output(_));
        let is_unknown = !self.usage.contains_key(&item.run) && !self.given.contains(&item.run);
        (shows && is_unknown && self.agents.contains_key(&event.agent)).then_some(item.run)
    }

    /// Learns whether there is a run: its items are what an agent did. What an agent was given, such as a history, is
    /// under the id of no run, and is not shown.
    pub(super) fn know_run(&mut self, id: RunId, run: Option<&Run>) {
        match run {
            // What it has used is in the events, as far as these are kept.
            Some(_) => drop(self.usage.entry(id).or_default()),
            None => drop(self.given.insert(id)),
        }
    }

    /// The state in which the followed agent rests, if it does.
    pub(super) fn rests(&self) -> Option<AgentState> {
        self.agents.get(&self.top).map(|top| top.own).filter(|own| !own.is_active())
    }

    /// Learns the followed agent's own state, for want of the events that tell it.
    pub(super) fn know_state(&mut self, state: AgentState) {
        if let Some(top) = self.agents.get_mut(&self.top) {
            top.own = state;
        }
    }

    /// Takes over what an earlier stream sent of answers that were in progress.
    pub(super) fn claim(&mut self, answers: &[AnswerSoFar]) {
        for AnswerSoFar { agent, item, had } in answers {
            if self.agents.get(agent).is_some_and(|view| view.next <= *item) {
                self.answers.insert(*agent, Answer::claimed(*item, *had));
            }
        }
    }

    /// What was sent of answers in progress.
    pub(super) fn answers(&self) -> Vec<AnswerSoFar> {
        let so_far = |(agent, answer): (&AgentId, &Answer)| {
            Some(AnswerSoFar { agent: *agent, item: answer.item, had: answer.had()? })
        };
        self.answers.iter().filter_map(so_far).collect()
    }

    /// The chunks of a piece, each with the answers in progress after it.
    pub(super) fn delta(&mut self, delta: &AgentDelta) -> Vec<(Chunk, Vec<AnswerSoFar>)> {
        let Some(view) = self.agents.get(&delta.agent) else { return Vec::new() };
        // The item has arrived.
        if delta.item_seq < view.next {
            return Vec::new();
        }
        let answer = self.answers.entry(delta.agent).or_insert_with(|| Answer::new(delta.item_seq));
        if answer.item != delta.item_seq {
            if answer.is_past(delta) {
                return Vec::new();
            }
            *answer = Answer::new(delta.item_seq);
        }
        let name = view.name.clone();
        let sent = answer.take(delta);
        let others = self.answers();
        let (agent, item) = (delta.agent, delta.item_seq);
        let with = |(sent, had)| {
            let chunk = match sent {
                Sent::Start => step_start(&name, message_id(agent, item)),
                Sent::Text(text_delta) => Chunk::TextDelta { agent_id: name.clone(), text_delta },
                Sent::Reasoning(text_delta) => Chunk::Reasoning { agent_id: name.clone(), text_delta },
            };
            let own = AnswerSoFar { agent, item, had };
            (chunk, others.iter().filter(|other| other.agent != agent).copied().chain([own]).collect())
        };
        sent.into_iter().map(with).collect()
    }

    /// The chunks of an event. Each keeps its place, also if it is left out because the client has had it.
    pub(super) fn event(&mut self, event: &Event) -> Vec<Option<Chunk>> {
        if !self.agents.contains_key(&event.agent) {
            return Vec::new();
        }
        match &event.body {
            EventBody::AgentCreated { .. } => self.state(event.agent, AgentState::Running),
            EventBody::AgentStatus { status, waiting_on, stop_reason } => {
                if event.agent == self.top {
                    self.note_end(*stop_reason);
                }
                let own = AgentState::of(*status, *waiting_on, Unread::Nothing);
                if let Some(view) = self.agents.get_mut(&event.agent) {
                    view.own = own;
                }
                self.state(event.agent, own)
            }
            // It is requested and, later, applied.
            EventBody::Intervention { intervention }
                if intervention.action == Action::Modify && self.modified.insert(intervention.id) =>
            {
                let mut chunks = self.state(event.agent, AgentState::Modified);
                chunks.extend(self.state(event.agent, AgentState::Running));
                chunks
            }
            EventBody::Record { kind, record, .. } if *kind == Annotations::KIND.as_str() => {
                let set = Annotations::deserialize(record).ok().and_then(|set| set.shown);
                let view = self.agents.get_mut(&event.agent);
                let is_new = view.is_some_and(|view| std::mem::replace(&mut view.shown, set) != set);
                set.filter(|_| is_new).map_or_else(Vec::new, |set| self.state(event.agent, set.state))
            }
            EventBody::Run { run, usage, .. } => {
                self.usage.insert(*run, *usage);
                Vec::new()
            }
            EventBody::Question { question } => self.question(question).into_iter().map(Some).collect(),
            EventBody::Item { item_seq, item } => self.item(event.agent, *item_seq, item.as_ref()),
            _ => Vec::new(),
        }
    }

    /// The chunks of the end of the stream, after the event with which the followed agent came to rest.
    pub(super) fn end(
        &self,
        event: &Event,
        state: AgentState,
        result: Option<String>,
        subagents: Vec<Subagent>,
    ) -> Vec<Chunk> {
        let agent_id = self.name(self.top);
        let (finish_reason, first) = if state == AgentState::Error {
            let error = self.failure.clone().unwrap_or_else(|| "the agent failed".to_owned());
            (FinishReason::Error, Chunk::Error { agent_id: agent_id.clone(), error })
        } else {
            let reason = if state == AgentState::Deleted { FinishReason::Other } else { FinishReason::Stop };
            let metadata = ResultMetadata { subagents };
            (reason, Chunk::Result { agent_id: agent_id.clone(), result, metadata })
        };
        let usage = self.usage.values().copied().sum::<Usage>().into();
        let blank = Response { id: self.top.to_string(), timestamp: event.at, model_id: String::new() };
        let response = self.last.clone().unwrap_or(blank);
        [first, Chunk::Finish { agent_id, finish_reason, usage, response, provider_metadata: NoData {} }]
            .into()
    }

    /// How callers know an agent.
    pub(super) fn name(&self, agent: AgentId) -> String {
        self.agents.get(&agent).map_or_else(|| agent.to_string(), |view| view.name.clone())
    }

    /// The followed agent works again, or has failed without a notice that says why.
    fn note_end(&mut self, reason: Option<StopReason>) {
        match reason {
            None => self.failure = None,
            Some(reason) => {
                self.failure.get_or_insert_with(|| format!("the run failed ({reason})"));
            }
        }
    }

    fn state(&mut self, agent: AgentId, state: AgentState) -> Vec<Option<Chunk>> {
        let Some(view) = self.agents.get_mut(&agent) else { return Vec::new() };
        if view.state.replace(state) == Some(state) {
            return Vec::new();
        }
        vec![Some(Chunk::AgentState { agent_id: view.name.clone(), state })]
    }

    pub(super) fn question(&mut self, question: &Question) -> Option<Chunk> {
        let before = self.questions.insert(question.id, question.status);
        let (agent_id, query_id) = (self.name(question.agent), question.id);
        match question.status {
            QuestionStatus::Open if before.is_none() => {
                Some(Chunk::UserQuery { agent_id, query_id, prompt: question.text.clone() })
            }
            QuestionStatus::Open => None,
            _ if before.is_some_and(|before| before != QuestionStatus::Open) => None,
            QuestionStatus::Answered => {
                Some(Chunk::UserAnswer { agent_id, query_id, response: question.answer_in_words() })
            }
            QuestionStatus::Declined | QuestionStatus::Expired => {
                Some(Chunk::UserAnswer { agent_id, query_id, response: None })
            }
        }
    }

    fn item(&mut self, agent: AgentId, number: u64, item: Option<&Item>) -> Vec<Option<Chunk>> {
        let is_top = agent == self.top;
        let Some(view) = self.agents.get_mut(&agent) else { return Vec::new() };
        view.next = number + 1;
        // An item in the place of an answer, or after it, is that answer, or says that there will be none.
        let is_over = self.answers.get(&agent).is_some_and(|answer| answer.item <= number);
        let answer = if is_over { self.answers.remove(&agent) } else { None };
        let written = item.filter(|item| !self.given.contains(&item.run));
        match written.map(|item| (item, &item.body)) {
            Some((item, ItemBody::Turn(turn))) => {
                let answer = answer.filter(|answer| answer.item == number);
                let (chunks, response) = view.turn(item, turn, answer);
                if is_top {
                    self.last = Some(response);
                }
                chunks
            }
            Some((_, ItemBody::Output(output))) => vec![Some(view.output(output))],
            Some((_, ItemBody::Notice(notice))) if is_top && notice.level() == Level::Error => {
                self.failure = Some(notice.text.clone());
                Vec::new()
            }
            _ => Vec::new(),
        }
    }
}

impl View {
    /// The chunks of an answer: its beginning, its text, its calls, its end.
    fn turn(&mut self, item: &Item, turn: &Turn, answer: Option<Answer>) -> (Vec<Option<Chunk>>, Response) {
        let (agent_id, message_id) = (self.name.clone(), message_id(item.agent, item.seq));
        let rest = answer.and_then(|answer| answer.had()).and_then(|had| had.rest(&turn.text));
        let (start, text) = match rest {
            Some(rest) => (None, rest),
            None => (Some(step_start(&agent_id, message_id.clone())), turn.text.as_str()),
        };
        let text = (!text.is_empty())
            .then(|| Chunk::TextDelta { agent_id: agent_id.clone(), text_delta: text.to_owned() });
        let mut chunks = vec![start, text];
        for call in &turn.calls {
            let args = Arguments::of(&call.arguments);
            self.calls.insert(call.id, args.clone());
            chunks.push(Some(Chunk::ToolCall {
                agent_id: agent_id.clone(),
                tool_call_id: call.id,
                tool_name: call.tool.clone(),
                args,
            }));
        }
        let used = turn.used.as_ref();
        let response = Response {
            id: message_id.clone(),
            timestamp: item.at,
            model_id: used.map(|used| used.model.clone()).unwrap_or_default(),
        };
        chunks.push(Some(Chunk::StepFinish {
            agent_id,
            message_id,
            request: NoData {},
            response: response.clone(),
            warnings: [],
            usage: used.map(|used| used.usage).unwrap_or_default().into(),
            finish_reason: if turn.calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls },
            is_continued: false,
            provider_metadata: NoData {},
        }));
        (chunks, response)
    }

    fn output(&mut self, output: &Output) -> Chunk {
        Chunk::ToolResult {
            agent_id: self.name.clone(),
            tool_call_id: output.call,
            tool_name: output.tool.clone(),
            args: self.calls.remove(&output.call).unwrap_or_else(|| Arguments::of(&json!({}))),
            result: output.text.clone(),
            is_error: output.error,
        }
    }
}

fn message_id(agent: AgentId, item: u64) -> String {
    format!("{agent}.{item}")
}

fn step_start(name: &str, message_id: String) -> Chunk {
    Chunk::StepStart { agent_id: name.to_owned(), message_id, request: NoData {}, warnings: [] }
}
