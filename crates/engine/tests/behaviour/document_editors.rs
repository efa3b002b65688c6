//! Two editors and the agent on one document, at once and in random order: nothing that was acknowledged is lost, and
//! each version is what its author wrote on the one before. `ROUNDS` sets how many rounds there are, `SEED` their dice.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use entourage_engine::{Client, Error, ExpectedVersion, Kinds, NewAct, responses::StreamEvent};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_testkit::{World, quiet};
use entourage_types::{
    Act, ActOutcome, AgentId, Change, Document, DocumentId, Editor, Kind, Owner, ProjectId,
};
use serde_json::json;

use crate::{
    documents::{content, new, new_project, versions},
    kit::{Dice, setting, within},
};

/// A longer document is changed in places, so that the agent does both.
const WHOLE_CHARS: u32 = 1_500;

/// What made a version of the document.
#[derive(Debug, Clone)]
enum Written {
    /// This line was added to the version before.
    Line(String),
    /// An earlier version was brought back.
    Undone { to: u64 },
}

/// The built-in kinds, of which the document agent changes documents in places that are not short.
fn kinds() -> Kinds {
    Kinds::builtin().iter().fold(Kinds::none(), |kinds, kind| {
        let mut kind = Kind::clone(kind);
        if kind.name == "documents" {
            kind.program_settings.as_mut().unwrap()["whole_chars"] = WHOLE_CHARS.into();
            kind.version.clear();
        }
        kinds.with(kind)
    })
}

/// What stands in a section of a prompt.
fn section<'a>(prompt: &'a str, name: &str) -> &'a str {
    let (_, after) = prompt.split_once(&format!("<{name}>\n")).unwrap();
    after.split_once(&format!("\n</{name}>")).unwrap().0
}

/// A model that adds the line of the user's message to the document.
fn adds_a_line(request: &Request) -> Script {
    let Some(Message::User(prompt)) = request.messages.last() else { panic!("{request:?}") };
    let line = section(prompt, "user_message");
    Script::text(match &request.output_schema {
        None => format!("{}\n{line}\n", section(prompt, "content")),
        Some(_) if prompt.contains("<decided_change>") => {
            json!({ "edits": [{ "old": "", "new": line }] }).to_string()
        }
        Some(_) => {
            json!({ "should_edit": true, "document_id": 1, "change_summary": "Add a line." }).to_string()
        }
    })
}

/// Says this, and returns what it came to.
pub(crate) async fn acted(client: &Client, message: NewAct) -> Act {
    let accepted = client.act(message, None).await.unwrap();
    let mut follow = client.follow_act(accepted).await.unwrap();
    let run = within("it is answered", async {
        loop {
            let event = follow.next().await.expect("an answer").unwrap();
            if let StreamEvent::Done(result) | StreamEvent::Error(result) = event {
                return result.run_id;
            }
        }
    });
    client.act_of(run.await).await.unwrap().expect("what it came to")
}

/// Changes the document as an editor does who has seen it: if another one was first, they look again.
async fn edit<F: Future<Output = Result<Document, Error>>>(
    client: &Client,
    id: DocumentId,
    dice: &Dice,
    change: impl Fn(Document) -> F,
) -> (Document, Document) {
    loop {
        dice.linger().await;
        let seen = client.document(id).await.unwrap();
        dice.linger().await;
        match change(seen.clone()).await {
            Ok(changed) => return (seen, changed),
            Err(Error::StaleVersion { expected, current, .. }) => {
                assert!(expected == seen.head.version && expected < current);
            }
            Err(other) => panic!("{other}"),
        }
    }
}

/// The document, those who edit it, and what they were told.
struct Editors {
    client: Client,
    project: ProjectId,
    id: DocumentId,
    dice: Dice,
    written: BTreeMap<u64, Written>,
    /// What the agent was asked to add and did not.
    refused: BTreeSet<String>,
    chat: Option<AgentId>,
}

impl Editors {
    async fn add_line(&self, line: String) -> (u64, Written) {
        let (_, changed) = edit(&self.client, self.id, &self.dice, |seen| {
            let change = content(format!("{}{line}\n", seen.content));
            self.client.change_document(self.id, change, ExpectedVersion::Exactly(seen.head.version))
        })
        .await;
        (changed.head.version, Written::Line(line))
    }

    /// Brings one of the last versions back; none if the document is as it was then.
    async fn undo(&self) -> Option<(u64, Written)> {
        let back = 1 + self.dice.below(3) as u64;
        let to = |seen: &Document| seen.head.version.saturating_sub(back).max(1);
        let (seen, changed) = edit(&self.client, self.id, &self.dice, |seen| {
            self.client.undo_document(self.id, to(&seen), ExpectedVersion::Exactly(seen.head.version))
        })
        .await;
        let is_new = changed.head.version > seen.head.version;
        is_new.then(|| (changed.head.version, Written::Undone { to: to(&seen) }))
    }

    /// Has the agent add a line.
    async fn have_added(&self, line: &str) -> Act {
        self.dice.linger().await;
        let message = NewAct {
            message: line.to_owned(),
            project: Some(self.project),
            chat: self.chat.filter(|_| !self.dice.chance(5)),
            open: None,
        };
        acted(&self.client, message).await
    }

    /// Two editors, one of whom may undo as well, and the agent, all at once, or one editor after the agent.
    async fn round(&mut self, round: u64) {
        let line = format!("agent {round}");
        let (ann_waits, bob_waits, is_undone) =
            (self.dice.chance(50), self.dice.chance(50), self.dice.chance(10));
        let is_answered = tokio::sync::watch::Sender::new(false);
        let turn = async |waits: bool| {
            if waits {
                is_answered.subscribe().wait_for(|is_answered| *is_answered).await.unwrap();
            }
        };
        let ann = async {
            turn(ann_waits).await;
            self.add_line(format!("ann {round}")).await
        };
        let bob = async {
            turn(bob_waits).await;
            let added = self.add_line(format!("bob {round}")).await;
            (added, if is_undone { self.undo().await } else { None })
        };
        let agent = async {
            let act = self.have_added(&line).await;
            is_answered.send_replace(true);
            act
        };
        let (by_ann, (by_bob, undone), act) = tokio::join!(ann, bob, agent);
        for (version, written) in [by_ann, by_bob].into_iter().chain(undone) {
            self.acknowledged(version, written);
        }
        self.chat = Some(act.agent);
        match act.outcome {
            ActOutcome::Updated => {
                let version = self.version_by(&act).await.expect("the version of an update");
                self.acknowledged(version, Written::Line(line));
            }
            ActOutcome::NotUpdated => {
                assert_eq!(self.version_by(&act).await, None);
                self.refused.insert(line);
            }
            other => panic!("{other}: {}", act.decision),
        }
    }

    /// The version that the run of an act has written.
    async fn version_by(&self, act: &Act) -> Option<u64> {
        let now = self.client.document(self.id).await.unwrap().head.version;
        // In one round there are at most three others after it.
        for number in (now.saturating_sub(4).max(1)..=now).rev() {
            let version = self.client.document_version(self.id, number).await.unwrap();
            if version.editor == (Editor::Agent { agent: act.agent, run: Some(act.run) }) {
                return Some(number);
            }
        }
        None
    }

    fn acknowledged(&mut self, version: u64, written: Written) {
        let before = self.written.insert(version, written);
        assert!(before.is_none(), "version {version} is by two: {before:?}");
    }

    /// Every version is what its author has written on the one before, and there are no others.
    async fn judge(&self) {
        let kept = versions(&self.client, self.id).await;
        assert!(self.written.keys().copied().eq(2..=kept.len() as u64), "{:?}", self.written.keys());
        let mut of_versions: Vec<Vec<&str>> = vec![vec!["# Log"]];
        for version in &kept[1..] {
            let lines = match &self.written[&version.number] {
                Written::Line(line) => {
                    assert_eq!(version.change, Change::Edited);
                    let mut lines = of_versions.last().unwrap().clone();
                    lines.push(line);
                    lines
                }
                Written::Undone { to } => {
                    assert_eq!(version.change, Change::Undone);
                    let to = usize::try_from(*to).unwrap() - 1;
                    assert_eq!(version.content, kept[to].content);
                    of_versions[to].clone()
                }
            };
            let said: Vec<&str> = version.content.lines().filter(|line| !line.is_empty()).collect();
            assert_eq!(said, lines, "version {}: {:?}", version.number, self.written[&version.number]);
            assert_eq!(self.client.document_version(self.id, version.number).await.unwrap(), *version);
            of_versions.push(lines);
        }
        let all: BTreeSet<&str> = of_versions.iter().flatten().copied().collect();
        assert!(self.refused.iter().all(|line| !all.contains(line.as_str())), "{:?}", self.refused);
    }
}

/// Shows: S5-R125, S5-R126.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_editors_and_the_agent_lose_nothing_of_each_other() {
    let (rounds, seed) = (setting("ROUNDS", 100), setting("SEED", 1));
    println!("{rounds} rounds, seed {seed}");
    let began = Instant::now();
    let model = ScriptedModel::deciding(|request| Some(Ok(adds_a_line(request))));
    let world = World::builder(model).kinds(quiet(kinds())).start().await;
    let client = world.engine().client(Owner::local());
    let project = new_project(&client, "Home").await.id;
    let id = client.create_document(new(project, "Log", "# Log\n")).await.unwrap().head.id;
    let dice = Dice::new(seed);
    let (written, refused) = (BTreeMap::new(), BTreeSet::new());
    let mut editors = Editors { client, project, id, dice, written, refused, chat: None };
    // Who comes first is chance: many rounds go on until the agent has come too late.
    let (many, mut round) = (100, 0);
    while round < rounds || (rounds >= many && editors.refused.is_empty() && round < 20 * rounds) {
        editors.round(round).await;
        round += 1;
    }
    let (over, stale) = (began.elapsed(), editors.refused.len() as u64);
    editors.judge().await;
    assert!(rounds < many || (0 < stale && stale < round), "the agent came first and too late: {stale}");
    assert_eq!(world.audit().await, []);
    println!(
        "{} versions, {stale} times the agent came too late, over after {over:?}, judged after {:?}",
        editors.written.len() + 1,
        began.elapsed()
    );
}
