//! People: what they request of their agents, repeated until it is confirmed, and what they must
//! not get.

use std::collections::BTreeMap;

use entourage_engine::{Cause, Client, Error, NewAgent, NewSchedule, Page, Role};
use entourage_types::{
    About, Action, Agent, AgentId, Answer, Author, BudgetId, ItemBody, Owner, Payload, Question,
    QuestionStatus, Recurrence, Schedule, ScheduleStatus, Shortage, Status, Trigger, WaitingOn,
};
use serde::{Deserialize, Serialize};

use super::{
    MESSAGES, OWNERS, RESULTS,
    cast::{self, Calls},
    life::Life,
    node::Node,
    purse::more,
    requests::{Answered, Request},
};
use crate::kit::Dice;
use entourage_testkit::{Fact, Violation, Witness};

/// For how many turns of all others a person waits for an agent to begin a call.
const PATIENCE: usize = 300;

/// A message that a person wants delivered, under a key of its own.
#[derive(Debug, Clone)]
struct Wish {
    owner: Owner,
    to: To,
    /// Its text, which no other wish has, and its key.
    text: String,
}

/// Who is to get a message.
#[derive(Debug, Clone, Copy)]
enum To {
    Agent(AgentId),
    /// A new agent of this kind.
    New(&'static str),
}

/// What a trigger brings.
#[derive(Serialize, Deserialize)]
struct Reminder {
    number: usize,
}

impl Payload for Reminder {
    const NAME: &'static str = "reminder";
}

/// All people of a simulation.
pub(super) struct People {
    dice: Dice,
    owners: Vec<Owner>,
    agents: Vec<(Owner, AgentId)>,
    /// Those of them that have ended below others.
    ended: Vec<(Owner, AgentId)>,
    calls: Calls,
    /// The requests that are not confirmed yet.
    wishes: Vec<Wish>,
    /// How many requests there were.
    wished: usize,
    /// The confirmed requests, with the agent that must have read each.
    taken: BTreeMap<String, AgentId>,
    witness: Witness,
    wait_for_tomorrow: bool,
}

type Done<T> = entourage_engine::Result<T>;

impl People {
    pub(super) fn new(dice: Dice, calls: Calls, witness: Witness) -> Self {
        let owners = vec![Owner::new("ann"), Owner::new("bob")];
        let (agents, ended, wishes, taken) = (Vec::new(), Vec::new(), Vec::new(), BTreeMap::new());
        Self {
            dice,
            owners,
            agents,
            ended,
            calls,
            wishes,
            wished: 0,
            taken,
            witness,
            wait_for_tomorrow: false,
        }
    }

    /// Agents that people know of, at any depth.
    async fn look(&mut self, life: &Life) {
        self.agents.clear();
        self.ended.clear();
        for owner in self.owners.clone() {
            let page = Page { limit: 1000, ..Page::default() };
            let node = life.node();
            let agents = node.came_of(Request::Read, node.client(&owner).agents(None, page).await);
            let agents = agents.done().unwrap_or_default();
            self.agents.extend(agents.iter().map(|agent| (owner.clone(), agent.id)));
            let ended = agents.iter().filter(|agent| agent.parent.is_some() && agent.status.is_terminal());
            self.ended.extend(ended.map(|agent| (owner.clone(), agent.id)));
        }
    }

    /// One person does something.
    pub(super) async fn act(&mut self, life: &Life) {
        self.look(life).await;
        self.wished += 1;
        let number = self.wished;
        match self.dice.below(10) {
            chance if chance < 2 || self.agents.is_empty() => {
                let owner = self.owners[self.dice.below(self.owners.len())].clone();
                let to = To::New(cast::KINDS[self.dice.below(cast::KINDS.len())]);
                self.wishes.push(Wish { owner, to, text: format!("begin {number}") });
            }
            2..=4 => {
                if let Some((owner, agent)) = self.dice.pick(&self.agents).cloned() {
                    self.wishes.push(Wish { owner, to: To::Agent(agent), text: format!("hear {number}") });
                }
            }
            5 | 6 => self.answer(life, 50).await,
            7 if !self.ended.is_empty() && self.dice.chance(50) => self.forget(life).await,
            8 if self.dice.chance(40) => self.remind(life, number).await,
            _ => self.intervene_anywhere(life).await,
        }
        self.insist(life).await;
    }

    /// Repeats every request that is not confirmed.
    pub(super) async fn insist(&mut self, life: &Life) {
        for wish in std::mem::take(&mut self.wishes) {
            let node = life.node();
            let (client, key) = (node.client(&wish.owner), Some(wish.text.as_str()));
            let done = match wish.to {
                To::Agent(agent) => {
                    let done = client.send(agent, &wish.text, key).await;
                    node.came_of(Request::Send, done.map(|posted| posted.agent))
                }
                To::New(kind) => {
                    let kind = Some(kind.to_owned());
                    let new = NewAgent { kind, message: Some(wish.text.clone()), title: None, parent: None };
                    node.came_of(Request::Create, client.create(new, key).await.map(|agent| agent.id))
                }
            };
            match done {
                Answered::Done(agent) => drop(self.taken.insert(wish.text, agent)),
                Answered::Refused => {}
                Answered::Never => self.wishes.push(wish),
            }
        }
    }

    /// Answers some of the open questions.
    pub(super) async fn answer(&self, life: &Life, of_hundred: usize) {
        for owner in &self.owners {
            for question in self.open_questions(life, owner).await {
                if self.dice.chance(of_hundred) {
                    let answers = match question.about {
                        About::Approval => ["approve", "approve always", "reject", ""],
                        _ => ["retry", "give up", "yes", ""],
                    };
                    let answer = match answers[self.dice.below(answers.len())] {
                        "" => Answer::Declined,
                        text => Answer::Text(text.into()),
                    };
                    let node = life.node();
                    node.came_of(Request::Answer, node.client(owner).answer(question.id, answer).await);
                }
            }
        }
    }

    async fn open_questions(&self, life: &Life, owner: &Owner) -> Vec<Question> {
        let node = life.node();
        let open = node.client(owner).questions(None, Some(QuestionStatus::Open), Page::default()).await;
        node.came_of(Request::Read, open).done().unwrap_or_default()
    }

    /// Forgets an agent that has ended, while its tree lives on.
    async fn forget(&self, life: &Life) {
        if let Some((owner, agent)) = self.dice.pick(&self.ended) {
            let node = life.node();
            node.came_of(Request::Forget, node.client(owner).forget(*agent).await);
        }
    }

    /// Sets an agent to work with a trigger, now or on a schedule, or changes a schedule.
    async fn remind(&self, life: &Life, number: usize) {
        let Some((owner, agent)) = self.dice.pick(&self.agents).cloned() else { return };
        let node = life.node();
        let (client, text) = (node.client(&owner), format!("remember {number}"));
        // A payload of one number is always one.
        let Ok(trigger) = Trigger::new(&Reminder { number }) else { return };
        match self.dice.below(4) {
            0 => {
                node.came_of(Request::Remind, client.trigger(agent, trigger, &text, Some(&text)).await);
            }
            1 | 2 => {
                let seconds = 60 + self.dice.below(200) as u64;
                let first = Some(node.clock().now() + std::time::Duration::from_secs(seconds));
                let recurrence =
                    if self.dice.chance(50) { Recurrence::Once } else { Recurrence::Every { seconds } };
                let new = NewSchedule { agent, text: text.clone(), trigger, first, recurrence };
                drop(node.came_of(Request::Remind, client.schedule(new, Some(&text)).await));
            }
            _ => {
                let Some(schedule) = self.dice.pick(&schedules(node, &owner, None).await).cloned() else {
                    return;
                };
                let set = match self.dice.below(3) {
                    0 => client.pause_schedule(schedule.id).await,
                    1 => client.resume_schedule(schedule.id).await,
                    _ => client.end_schedule(schedule.id).await,
                };
                drop(node.came_of(Request::Remind, set));
            }
        }
    }

    async fn intervene_anywhere(&self, life: &Life) {
        let actions = [
            Action::Pause,
            Action::Resume,
            Action::Comment,
            Action::Steer,
            Action::Modify,
            Action::Retry,
            Action::CloseSession,
            Action::Delete,
        ];
        let action = actions[self.dice.below(actions.len())];
        if action == Action::Delete && !self.dice.chance(40) {
            return;
        }
        if let Some((owner, agent)) = self.dice.pick(&self.agents) {
            self.intervene(life, owner, *agent, action).await;
        }
    }

    /// Deletes an agent as soon as a call of it is under way, which chance alone seldom hits.
    pub(super) async fn delete_at_work(&mut self, life: &Life) {
        self.look(life).await;
        for _ in 0..PATIENCE {
            let at_work = self.agents.iter().filter(|(_, agent)| self.calls.are_made_by(*agent));
            if let Some((owner, agent)) = self.dice.pick(&at_work.collect::<Vec<_>>()) {
                return self.intervene(life, owner, *agent, Action::Delete).await;
            }
            tokio::task::yield_now().await;
        }
    }

    async fn intervene(&self, life: &Life, owner: &Owner, agent: AgentId, action: Action) {
        let text = matches!(action, Action::Comment | Action::Steer | Action::Modify);
        let node = life.node();
        let done = node.client(owner).intervene(agent, action, text.then_some("otherwise")).await;
        let done = node.came_of(Request::Intervene(action), done).done();
        if done.is_some() && action == Action::Delete {
            self.witness.record(Fact::Deleted(agent));
        }
    }

    /// Resumes and answers everything that waits for a person.
    pub(super) async fn let_go(&mut self, life: &Life) -> bool {
        self.insist(life).await;
        self.look(life).await;
        self.wait_for_tomorrow = false;
        let mut held_up = !self.wishes.is_empty();
        for (owner, id) in &self.agents {
            let node = life.node();
            let agent = node.came_of(Request::Read, node.client(owner).agent(*id).await).done();
            let Some(agent) = agent else { continue };
            let cause = match (agent.status, agent.waiting_on) {
                (Status::Running, _) | (_, Some(WaitingOn::Retry)) => cause(node, owner, *id).await,
                _ => None,
            };
            match (agent.waiting_on, cause) {
                (Some(WaitingOn::Resume), _) => self.intervene(life, owner, *id, Action::Resume).await,
                // So many processes ended during its work, and while they ended its run, that only a person may.
                (_, Some(Cause::Crash { .. })) => self.intervene(life, owner, *id, Action::Stop).await,
                // Calls under way may leave enough.
                (_, Some(Cause::Budget { may_have_room: true, .. })) => continue,
                // Nobody grants more for a day.
                (_, Some(Cause::Budget { shortage: Shortage { budget: BudgetId::Day(..), .. }, .. })) => {
                    self.wait_for_tomorrow = true;
                    continue;
                }
                (_, Some(Cause::Budget { shortage, .. })) => {
                    // More than is needed, and less again: agents that were woken may be faster.
                    let (client, more) = (node.client(owner), more(&shortage));
                    for _ in 0..2 {
                        let granted = client.grant_budget(*id, more, None).await;
                        drop(node.came_of(Request::Grant, granted));
                    }
                    let taken = client.take_back_budget(*id, more, None).await;
                    drop(node.came_of(Request::TakeBack, taken));
                }
                _ => continue,
            }
            held_up = true;
        }
        for owner in &self.owners {
            held_up |= !self.open_questions(life, owner).await.is_empty();
            let node = life.node();
            for schedule in schedules(node, owner, Some(ScheduleStatus::Active)).await {
                drop(node.came_of(Request::Remind, node.client(owner).end_schedule(schedule.id).await));
                held_up = true;
            }
        }
        self.answer(life, 100).await;
        held_up
    }

    /// Whether an agent lacked what its owner may spend in a day, when people last looked.
    pub(super) const fn wait_for_tomorrow(&self) -> bool {
        self.wait_for_tomorrow
    }

    /// What people find at the end although it must not be there.
    pub(super) async fn complain(&mut self, life: &Life) -> Done<Vec<Violation>> {
        self.look(life).await;
        let mut found = Vec::new();
        for (owner, id) in self.agents.clone() {
            let client = life.node().client(&owner);
            let agent = client.agent(id).await?;
            self.heard(&client, &agent, &mut found).await?;
            seen(&client, &agent, &mut found).await?;
            for other in self.owners.iter().filter(|other| **other != owner) {
                let what = reaches(&life.node().client(other), id).await;
                found.extend(what.into_iter().map(|what| Violation {
                    invariant: OWNERS,
                    agent: Some(id),
                    what: format!("{other} could {what}"),
                }));
            }
        }
        Ok(found)
    }

    /// Verifies that each confirmed message was read once.
    async fn heard(&self, client: &Client, agent: &Agent, found: &mut Vec<Violation>) -> Done<()> {
        let items = client.items(agent.id, 0, u32::MAX).await?;
        for (text, _) in self.taken.iter().filter(|(_, to)| **to == agent.id) {
            let said = |body: &ItemBody| matches!(body, ItemBody::Message(message) if message.text == *text);
            let times = items.iter().filter(|item| said(&item.body)).count();
            if times != 1 && !(times == 0 && agent.status == Status::Cancelled) {
                let what = format!("`{text}` was taken once and heard {times} times");
                found.push(Violation { invariant: MESSAGES, agent: Some(agent.id), what });
            }
        }
        Ok(())
    }
}

async fn schedules(node: &Node, owner: &Owner, status: Option<ScheduleStatus>) -> Vec<Schedule> {
    let page = Page { limit: 1000, ..Page::default() };
    let found = node.came_of(Request::Read, node.client(owner).schedules(None, status, page).await);
    found.done().unwrap_or_default()
}

/// Why an agent itself does not go on.
async fn cause(node: &Node, owner: &Owner, id: AgentId) -> Option<Cause> {
    let why = node.came_of(Request::Read, node.client(owner).why(id).await).done()?;
    Some(why.chain()[0].cause.clone())
}

/// Verifies that a person sees messages to and from them, and no internal work.
async fn seen(client: &Client, agent: &Agent, found: &mut Vec<Violation>) -> Done<()> {
    let items = client.items(agent.id, 0, u32::MAX).await?;
    for entry in client.transcript(agent.id).await? {
        let Some(item) = entry.item_seq.and_then(|seq| items.get(usize::try_from(seq).ok()?)) else {
            continue;
        };
        let visible = match &item.body {
            ItemBody::Message(message) => entry.role == Role::User && message.from == Author::User,
            ItemBody::Turn(turn) => turn.calls.is_empty() && entry.text == turn.text,
            ItemBody::Output(output) => output.text != entry.text,
            ItemBody::Notice(_) => true,
            ItemBody::Decision(_)
            | ItemBody::Digest(_)
            | ItemBody::Context(_)
            | ItemBody::SubCalls(_)
            | ItemBody::SubOutput(_) => false,
        };
        if !visible {
            let what = format!("a person sees item {}: {}", item.seq, entry.text);
            found.push(Violation { invariant: RESULTS, agent: Some(agent.id), what });
        }
    }
    Ok(())
}

/// What a stranger can do with an agent.
async fn reaches(stranger: &Client, agent: AgentId) -> Vec<&'static str> {
    fn hidden<T>(done: &Done<T>) -> bool {
        matches!(done, Err(Error::NotFound { .. }))
    }
    let page = Page::default;
    [
        ("read it", hidden(&stranger.agent(agent).await)),
        ("read its tree", hidden(&stranger.tree(agent).await)),
        ("read its items", hidden(&stranger.items(agent, 0, 10).await)),
        ("read its runs", hidden(&stranger.runs(agent, page()).await)),
        ("read its transcript", hidden(&stranger.transcript(agent).await)),
        ("read its events", hidden(&stranger.events(agent, 0, 10).await)),
        ("write to it", hidden(&stranger.send(agent, "hello", None).await)),
        ("delete it", hidden(&stranger.intervene(agent, Action::Delete, None).await)),
    ]
    .into_iter()
    .filter_map(|(what, hidden)| (!hidden).then_some(what))
    .collect()
}
