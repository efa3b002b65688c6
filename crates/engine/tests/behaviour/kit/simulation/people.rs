//! People: what they request of their agents, repeated until it is confirmed, and what they must
//! not get.

use std::collections::BTreeMap;

use entourage_engine::{Client, Error, NewAgent, Page, Role, StoreError};
use entourage_types::{
    About, Action, Agent, AgentId, Answer, Author, ItemBody, Owner, QuestionStatus, Status, WaitingOn,
};

use super::{cast, life::Life};
use crate::kit::Dice;
use entourage_testkit::{Fact, Invariant, Violation, Witness};

/// A message that a person wants delivered, under a key of its own.
#[derive(Debug, Clone)]
struct Wish {
    owner: Owner,
    /// The recipient; a new agent if none.
    to: Option<AgentId>,
    text: String,
}

/// All people of a simulation.
pub(super) struct People {
    dice: Dice,
    owners: Vec<Owner>,
    agents: Vec<(Owner, AgentId)>,
    /// The requests that are not confirmed yet.
    wishes: Vec<Wish>,
    /// The confirmed requests, with the agent that must have read each.
    taken: BTreeMap<String, AgentId>,
    witness: Witness,
}

type Done<T> = entourage_engine::Result<T>;

/// Whether the engine refused the request rather than giving no result.
fn is_refusal<T>(done: &Done<T>) -> bool {
    !matches!(done, Ok(_) | Err(Error::Store(StoreError::Closed)))
}

impl People {
    pub(super) fn new(dice: Dice, witness: Witness) -> Self {
        let owners = vec![Owner::new("ann"), Owner::new("bob")];
        let (agents, wishes, taken) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { dice, owners, agents, wishes, taken, witness }
    }

    /// Agents that people know of, at any depth.
    async fn look(&mut self, life: &Life) {
        self.agents.clear();
        for owner in self.owners.clone() {
            let page = Page { limit: 1000, ..Page::default() };
            let agents = life.client(&owner).agents(false, None, page).await.unwrap_or_default();
            self.agents.extend(agents.iter().map(|agent| (owner.clone(), agent.id)));
        }
    }

    /// One person does something.
    pub(super) async fn act(&mut self, life: &Life) {
        self.look(life).await;
        let number = self.taken.len() + self.wishes.len();
        match self.dice.below(10) {
            chance if chance < 2 || self.agents.is_empty() => {
                let owner = self.owners[self.dice.below(self.owners.len())].clone();
                self.wishes.push(Wish { owner, to: None, text: format!("begin {number}") });
            }
            2..=4 => {
                if let Some((owner, agent)) = self.dice.pick(&self.agents).cloned() {
                    self.wishes.push(Wish { owner, to: Some(agent), text: format!("hear {number}") });
                }
            }
            5 | 6 => self.answer(life, 50).await,
            _ => self.intervene(life).await,
        }
        self.insist(life).await;
    }

    /// Repeats every request that is not confirmed.
    pub(super) async fn insist(&mut self, life: &Life) {
        for wish in std::mem::take(&mut self.wishes) {
            let client = life.client(&wish.owner);
            let key = Some(wish.text.as_str());
            let done = match wish.to {
                Some(agent) => client.send(agent, &wish.text, key).await.map(|posted| posted.agent),
                None => {
                    let kind = cast::KINDS[wish.text.len() % cast::KINDS.len()].to_owned();
                    let new = NewAgent { kind: Some(kind), message: Some(wish.text.clone()), title: None };
                    client.create(new, key).await.map(|agent| agent.id)
                }
            };
            match done {
                Ok(agent) => drop(self.taken.insert(wish.text, agent)),
                done if is_refusal(&done) => {}
                _ => self.wishes.push(wish),
            }
        }
    }

    /// Answers some of the open questions.
    pub(super) async fn answer(&self, life: &Life, of_hundred: usize) {
        for owner in &self.owners {
            let client = life.client(owner);
            let open = client.questions(None, Some(QuestionStatus::Open), Page::default()).await;
            for question in open.unwrap_or_default() {
                if self.dice.chance(of_hundred) {
                    let answers = match question.about {
                        About::Approval => ["approve", "approve always", "reject", ""],
                        _ => ["retry", "give up", "yes", ""],
                    };
                    let answer = match answers[self.dice.below(answers.len())] {
                        "" => Answer::Declined,
                        text => Answer::Text(text.into()),
                    };
                    // The question may already be answered.
                    let _ = client.answer(question.id, answer).await;
                }
            }
        }
    }

    async fn intervene(&self, life: &Life) {
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
            let text = matches!(action, Action::Comment | Action::Steer | Action::Modify);
            let done = life.client(owner).intervene(*agent, action, text.then_some("otherwise")).await;
            if done.is_ok() && action == Action::Delete {
                self.witness.saw(Fact::Deleted(*agent));
            }
        }
    }

    /// Resumes and answers everything that waits for a person.
    pub(super) async fn let_go(&mut self, life: &Life) -> bool {
        self.insist(life).await;
        self.look(life).await;
        let mut held_up = !self.wishes.is_empty();
        for (owner, id) in &self.agents {
            let client = life.client(owner);
            if let Ok(Agent { waiting_on: Some(WaitingOn::Resume), .. }) = client.agent(*id).await {
                held_up = true;
                // The agent may be resumed already without having read that yet.
                let _ = client.intervene(*id, Action::Resume, None).await;
            }
        }
        for owner in &self.owners {
            let open = Some(QuestionStatus::Open);
            held_up |= !life
                .client(owner)
                .questions(None, open, Page::default())
                .await
                .unwrap_or_default()
                .is_empty();
        }
        self.answer(life, 100).await;
        held_up
    }

    /// What people find at the end although it must not be there.
    pub(super) async fn complain(&mut self, life: &Life) -> Done<Vec<Violation>> {
        self.look(life).await;
        let mut found = Vec::new();
        for (owner, id) in self.agents.clone() {
            let client = life.client(&owner);
            let agent = client.agent(id).await?;
            self.heard(&client, &agent, &mut found).await?;
            seen(&client, &agent, &mut found).await?;
            for other in self.owners.iter().filter(|other| **other != owner) {
                let what = reaches(&life.client(other), id).await;
                found.extend(what.into_iter().map(|what| Violation {
                    invariant: Invariant::Owners,
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
                found.push(Violation { invariant: Invariant::Messages, agent: Some(agent.id), what });
            }
        }
        Ok(())
    }
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
            ItemBody::Decision(_) | ItemBody::Digest(_) => false,
        };
        if !visible {
            let what = format!("a person sees item {}: {}", item.seq, entry.text);
            found.push(Violation { invariant: Invariant::Results, agent: Some(agent.id), what });
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
