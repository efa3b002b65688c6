//! The document agent (S5): what a message about the documents of a project comes to. The program here takes the steps;
//! everything else in this folder is a function of its arguments.

mod decision;
mod edit;
mod excerpt;
mod found;
mod intent;
mod naming;
mod outcome;
mod prompt;
mod proposal;
mod reply;
mod rewrite;
mod settings;

use async_trait::async_trait;
use entourage_store::Error as StoreError;
use entourage_tools::{DocumentWrite, FairPlaces};
use entourage_types::{
    ActOutcome, Document, DocumentHead, DocumentId, EntityKind, Kind, Message, NewDocument, ProposedChange,
    ProposedTarget, tool_names,
};
use serde_json::{Value, json};

use super::Program;
use crate::{
    Error, Interrupt,
    run::{AboutProject, Conversation, DecisionRequest, DecisionView, Reader, Run, TextRequest, Together},
};
use decision::ActDecision;
use edit::Edit;
use excerpt::DocumentExcerpt;
use found::Found;
use intent::{Intent, with_results};
use outcome::{Outcome, Web};
use prompt::Surroundings;
use settings::Settings;

/// How many of the messages before this one the model reads (S5-R019).
const HISTORY: u32 = 10;
/// The sampling temperature of decisions (S5-R039).
const TEMPERATURE: f64 = 0.5;
/// What the user reads in a chat without a project.
const NO_PROJECT: &str = "The project of this chat was deleted. I changed nothing.";

/// The program `act` (S5, step 3): one decision, at most one search, one change or none, one answer.
pub struct Act {
    /// Who may work now.
    places: FairPlaces,
}

impl Act {
    /// How many messages are acted upon at once unless another number is set (S5-R041).
    pub const AT_ONCE: usize = 10;

    /// A program that acts upon at most so many messages at once, for all its runs together (S5-R041): each holds a long
    /// prompt in memory, and asks a model for at most one thing at a time. Owners take turns.
    #[must_use]
    pub fn new(at_once: usize) -> Self {
        Self { places: FairPlaces::new(at_once) }
    }
}

impl Default for Act {
    fn default() -> Self {
        Self::new(Self::AT_ONCE)
    }
}

#[async_trait]
impl Program for Act {
    async fn run(&self, run: &mut Run<'_>) -> Result<String, Interrupt> {
        run.receive_one().await?;
        if let Some(text) = run.said_last() {
            return Ok(text);
        }
        let settings: Settings = run.settings()?;
        let _place = run.place_among(&self.places).await?;
        let (Some(message), Some(about)) = (run.message(), run.about_project().await?) else {
            return Ok(run.say(NO_PROJECT));
        };
        let documents = run.documents_of(about.project.id, DocumentExcerpt::of).await?;
        let acting = Acting { settings, message, about, documents };
        let decided = acting.decide(run).await?;
        let (decision, done) = match decided {
            Ok(decision) => {
                let done = acting.carry_out(run, &decision).await?;
                (done.decision(decision.whole), done)
            }
            Err(why) => (json!({ "error": why }), Done::said(Outcome::ModelFailed(why))),
        };
        acting.close(run, decision, done).await
    }

    fn tools(&self) -> &[&str] {
        &[tool_names::WEB_SEARCH]
    }

    fn check(&self, kind: &Kind) -> Result<(), String> {
        Settings::check(kind)
    }
}

/// A message that is acted upon.
struct Acting {
    settings: Settings,
    message: Message,
    about: AboutProject,
    documents: Vec<DocumentExcerpt>,
}

/// What is to be committed: what it came to if that is done, and how.
struct Done {
    outcome: Outcome,
    web: Web,
    write: Option<DocumentWrite>,
    /// What a model wrote for the change, if it is one of a document that exists.
    edit: Option<Edit>,
    /// The change that the user is asked to confirm.
    proposal: Option<ProposedChange>,
}

impl Done {
    const fn said(outcome: Outcome) -> Self {
        Self { outcome, web: Web::NotSearched, write: None, edit: None, proposal: None }
    }

    /// What was decided, with the error if no model did its part of it (S5-R120).
    fn decision(&self, mut whole: Value) -> Value {
        if let (Outcome::ModelFailed(why), Some(fields)) = (&self.outcome, whole.as_object_mut()) {
            fields.insert("error".to_owned(), why.as_str().into());
        }
        whole
    }
}

impl Acting {
    /// The document that the user has open, as they said with the message (S5-R049).
    fn open(&self) -> Option<DocumentId> {
        let about = self.message.options.as_ref()?.about.as_ref()?;
        let is_it = |head: &&DocumentHead| Document::as_parent(head.id) == *about;
        self.documents.iter().map(|document| &document.head).find(is_it).map(|head| head.id)
    }

    fn around(&self) -> Surroundings<'_> {
        Surroundings { project: &self.about.project, documents: &self.documents, open: self.open() }
    }

    /// The document that a decision names.
    fn meant(&self, decision: &ActDecision) -> Option<&DocumentHead> {
        decision.document_id.as_ref()?.resolve(&self.documents)
    }

    /// What the user was asked to confirm in the last message.
    fn proposed(&self) -> Option<&ProposedChange> {
        self.about.chat.record.proposal.as_ref()
    }

    /// What the model decides (S5-R037 to S5-R040); none of a decision that failed is asked for again (S5-R117).
    async fn decide(&self, run: &mut Run<'_>) -> Result<Result<ActDecision, String>, Interrupt> {
        let text = prompt::decision(&self.message.text, self.around(), self.proposed());
        let request = DecisionRequest {
            instructions: self.settings.decide.clone(),
            view: DecisionView { conversation: Conversation::Before(HISTORY), text },
            schema: ActDecision::schema(),
            temperature: Some(TEMPERATURE),
            attempts: 1,
        };
        Ok(match run.decide("decision", request).await? {
            Ok(value) => Ok(ActDecision::read(value)),
            Err(failed) => Err(failed.why),
        })
    }

    /// Searches, and prepares the change (S5-R053).
    async fn carry_out(&self, run: &mut Run<'_>, decision: &ActDecision) -> Result<Done, Interrupt> {
        let intent = Intent::of(decision, &self.message.text, &self.documents);
        let found = self.search(run, intent.search()).await?;
        match intent {
            Intent::Clarify { question } => Ok(Done::said(Outcome::Clarification(question))),
            Intent::Confirm { prompt } => {
                Ok(Self::ask(prompt, self.meant(decision), decision.change().unwrap_or_default()))
            }
            Intent::Create { name, standing_instruction, content, .. } => {
                Ok(self.create(name, standing_instruction, &content, &found, decision))
            }
            Intent::Edit { document, .. } => self.edit(run, document, &found, decision).await,
            Intent::Converse { response, .. } => self.converse(run, response, &found, decision).await,
        }
    }

    /// Makes the one search of a message, if it wants one (S5-R050, S5-R054).
    async fn search(&self, run: &mut Run<'_>, query: Option<&str>) -> Result<Found, Interrupt> {
        let Some(query) = query else { return Ok(Found::Nothing) };
        let call = run.call("search", tool_names::WEB_SEARCH, json!({ "query": query })).await?;
        Ok(Found::of(call))
    }

    /// Asks the user to confirm a change (S5-R082). The proposal holds for the document as it is now.
    fn ask(prompt: String, about: Option<&DocumentHead>, change: &str) -> Done {
        let target = about.map(|head| ProposedTarget { document: head.id, version: head.version });
        let proposal = Some(ProposedChange { prompt: prompt.clone(), target, change: change.to_owned() });
        Done { proposal, ..Done::said(Outcome::Confirmation(prompt)) }
    }

    /// Prepares a new document, with what was found at its end (S5-R073 to S5-R075).
    fn create(
        &self,
        name: String,
        standing_instruction: String,
        content: &str,
        found: &Found,
        decision: &ActDecision,
    ) -> Done {
        let results = match found {
            Found::Results(text) => Some(text.as_str()),
            Found::Nothing | Found::Failed => None,
        };
        let new = NewDocument {
            project: self.about.project.id,
            name: name.clone(),
            standing_instruction,
            content: with_results(content, results),
            summary: edit::in_short(decision.intent_statement.as_deref()),
        };
        let web = found.web();
        let write = Some(DocumentWrite::Create { id: DocumentId::new(), new });
        Done { web, write, ..Done::said(Outcome::created(name, decision, web)) }
    }

    /// Answers without a change (S5-R095, S5-R096).
    async fn converse(
        &self,
        run: &mut Run<'_>,
        response: Option<String>,
        found: &Found,
        decision: &ActDecision,
    ) -> Result<Done, Interrupt> {
        if let Some(response) = response {
            return Ok(Done { web: found.web(), ..Done::said(Outcome::Conversation(response)) });
        }
        let about = match self.meant(decision).map(|head| head.id).or(self.open()) {
            Some(id) => run.document(id).await?,
            None => None,
        };
        let text = prompt::conversation(&self.message.text, self.around(), about.as_ref(), found.results());
        let view = DecisionView { conversation: Conversation::Before(HISTORY), text };
        let instructions = self.settings.converse.clone();
        let (temperature, reader) = (Some(TEMPERATURE), Reader::User);
        let request = TextRequest { instructions, view, temperature, reader };
        let outcome = match run.write("answer", request).await? {
            Ok(answer) => Outcome::Conversation(answer),
            Err(failed) => Outcome::ModelFailed(failed.why),
        };
        Ok(Done { web: found.web(), ..Done::said(outcome) })
    }

    /// Commits the change, the answer and what it came to, all of it or none (S5-R125, S5-R126). If the change is refused,
    /// the answer says why instead.
    async fn close(&self, run: &mut Run<'_>, decision: Value, done: Done) -> Result<String, Interrupt> {
        let Done { mut outcome, mut web, mut write, edit, mut proposal } = done;
        loop {
            let text = reply::reply(&outcome);
            let document = write.as_ref().map(DocumentWrite::document);
            let searched = web == Web::Searched;
            let act = run.act(&self.about, decision.clone(), searched, (outcome.kind(), document));
            let records = vec![self.about.chat_with(proposal.clone(), act.at)?];
            let (act, document) = (Some(act), write.take());
            match run.say_with(&text, &Together { document, act, records }).await? {
                Ok(()) => {
                    self.log(&outcome, web);
                    return Ok(text);
                }
                Err(refusal) if is_without_project(&refusal) => return Ok(run.say(NO_PROJECT)),
                Err(refusal) => {
                    if let (Error::StaleVersion { document, .. }, Some(edit)) = (&refusal, &edit) {
                        write = self.edit_again(run, *document, edit).await?;
                        if write.is_some() {
                            continue;
                        }
                    }
                    (outcome, proposal) = (outcome.refused(&refusal), None);
                    web = Web::NotSearched;
                }
            }
        }
    }

    /// Logs what the message came to, without a word of the user, the model or a document (S5-R124). The agent, its tree
    /// and the run are in the line, too.
    fn log(&self, outcome: &Outcome, web: Web) {
        let (chat, project) = (self.about.chat.record.number, self.about.project.number);
        let (outcome, searched) = (outcome.kind(), web == Web::Searched);
        if outcome == ActOutcome::ModelFailed {
            tracing::warn!(chat, project, "no model gave an answer about documents that could be used");
        }
        tracing::info!(chat, project, %outcome, searched, "a message about documents was acted upon");
    }
}

/// Whether a commit is refused because the project was deleted, with its chats, while the message was acted upon.
fn is_without_project(refusal: &Error) -> bool {
    match refusal {
        Error::NotFound { noun, .. } => *noun == EntityKind::PROJECT.as_str(),
        Error::Store(StoreError::OtherVersion { kind, .. }) => *kind == EntityKind::PROJECT_CHAT,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use entourage_types::{Document, DocumentHead, DocumentId, Owner, ProjectId, Time};

    use super::excerpt::DocumentExcerpt;

    /// A document with this number and name.
    pub(super) fn document(number: u64, name: &str) -> DocumentExcerpt {
        DocumentExcerpt::of(written(number, name, "", ""))
    }

    /// A document with this number, name, standing instruction and content.
    pub(super) fn written(number: u64, name: &str, standing: &str, content: &str) -> Document {
        let head = DocumentHead {
            id: DocumentId::new(),
            owner: Owner::local(),
            project: ProjectId::new(),
            number,
            name: name.to_owned(),
            standing_instruction: standing.to_owned(),
            version: 1,
            created: Time::from_micros(1),
            updated: Time::from_micros(1),
        };
        Document { head, content: content.to_owned() }
    }
}
