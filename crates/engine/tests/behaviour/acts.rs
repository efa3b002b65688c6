//! The document agent: one decision, at most one search, one change or none, one answer.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use entourage_engine::{Client, DocumentChange, Error, ExpectedVersion, Kinds, NewAct, NewProject, Page};
use entourage_llm::{Error as ModelError, Message, Request, Script, ScriptedModel};
use entourage_store::MemoryStore;
use entourage_testkit::{Fault, World, crash_stride, quiet};
use entourage_tools::{Caller, Context, Effect, Error as ToolError, Outcome, Tool, Toolbox};
use entourage_types::{
    Act, ActOutcome, AgentId, DOCUMENT_BYTES, Document, Editor, Item, ItemBody, Owner, Project, ProjectChat,
    ProjectId, ProposedTarget, Status, ToolSpec, tool_names,
};
use serde_json::{Value, json};

use crate::{
    documents::{new, new_project},
    kit::{WorldBuilderExt, eventually, insist},
};

/// What the model of a test is asked for.
fn is_decision(request: &Request) -> bool {
    request.output_schema.is_some()
}

/// A model that decides this, and writes this where it is asked for a text.
pub(crate) fn deciding(decision: Value, text: &'static str) -> ScriptedModel {
    ScriptedModel::deciding(move |request| {
        Some(Ok(Script::text(if is_decision(request) { decision.to_string() } else { text.to_owned() })))
    })
}

/// A search that finds something, unless it is for nothing.
struct Search;

#[async_trait]
impl Tool for Search {
    fn name(&self) -> &str {
        tool_names::WEB_SEARCH
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        let parameters = json!({"type": "object", "properties": {"query": {"type": "string"}}});
        Some(ToolSpec::new(tool_names::WEB_SEARCH, "Searches.", parameters))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn call(&self, _: &Context, arguments: Value) -> Result<Outcome, ToolError> {
        match arguments["query"].as_str() {
            Some("nothing") => Err(ToolError::Failed("the web is down".into())),
            _ => Ok(Outcome::text("The web says so.")),
        }
    }
}

pub(crate) fn builder(model: ScriptedModel) -> entourage_testkit::WorldBuilder {
    World::builder(model).tools(Toolbox::new().with(Search)).kinds(quiet(Kinds::builtin()))
}

/// A project with a document, and a message about it.
pub(crate) struct Place {
    pub(crate) world: World,
    model: ScriptedModel,
    pub(crate) project: Project,
    pub(crate) recipes: Document,
}

impl Place {
    async fn of(model: ScriptedModel) -> Self {
        Self::with(model, |builder| builder).await
    }

    /// The same with an engine that is built like this.
    pub(crate) async fn with(
        model: ScriptedModel,
        with: impl Fn(entourage_engine::Builder) -> entourage_engine::Builder + Send + Sync + 'static,
    ) -> Self {
        let world = builder(model.clone()).engine(with).start().await;
        let client = world.engine().client(Owner::local());
        let project = new_project(&client, "Kitchen").await;
        let recipes = client.create_document(new(project.id, "Recipes", "# Soup\n\nWater.\n")).await.unwrap();
        Self { world, model, project, recipes }
    }

    pub(crate) fn client(&self) -> Client {
        self.world.engine().client(Owner::local())
    }

    pub(crate) fn message(&self, text: &str) -> NewAct {
        NewAct { message: text.to_owned(), project: Some(self.project.id), chat: None, open: None }
    }

    /// Says this, and returns what it came to, the answer, and the chat.
    pub(crate) async fn act(&self, new: NewAct) -> (Act, String, ProjectChat) {
        let acts = async |chat| self.client().acts(chat, Page::all()).await.unwrap();
        let before = match new.chat {
            Some(chat) => (chat, acts(chat).await.len()),
            None => (AgentId::new(), 0),
        };
        let chat = self.client().act(new, None).await.unwrap().chat;
        let before = if before.0 == chat { before.1 } else { 0 };
        let acts = eventually("it is answered", || acts(chat), |acts| acts.len() > before).await;
        self.world.ended(chat).await;
        let text = said(&self.client(), chat).await;
        let chat = self.client().record(chat).await.unwrap();
        (acts.last().unwrap().clone(), text, chat)
    }

    async fn recipes(&self) -> Document {
        self.client().document(self.recipes.head.id).await.unwrap()
    }
}

/// The last text of an agent.
async fn said(client: &Client, agent: AgentId) -> String {
    let items: Vec<Item> = client.items(agent, 0, 1_000).await.unwrap();
    let last = items.iter().rev().find_map(|item| match &item.body {
        ItemBody::Turn(turn) => Some(turn.text.clone()),
        _ => None,
    });
    last.unwrap()
}

/// Shows: S5-R038, S5-R039, S5-R040, S5-R057, S5-R058, S5-R060, S5-R061, S5-R062, S5-R065, S5-R093, S5-R117.
#[tokio::test]
async fn an_edit_replaces_the_content_and_keeps_the_rest() {
    let decision = json!({
        "should_edit": true, "document_id": 1, "intent_statement": "I'll add salt to the soup.",
        "content_summary": "The soup has salt now.", "change_summary": "Add salt.", "mood": "fine",
    });
    let place = Place::of(deciding(decision.clone(), "# Soup\n\nWater, salt.\n")).await;
    let (act, text, chat) = place.act(place.message("Salt the soup.")).await;
    assert_eq!(text, "I'll add salt to the soup.\n\n**Content Summary:**\nThe soup has salt now.");
    let after = place.recipes().await;
    assert_eq!((after.content.as_str(), after.head.version), ("# Soup\n\nWater, salt.\n", 2));
    assert_eq!(after.head.name, "Recipes");
    assert_eq!(
        (act.outcome, act.document, act.is_success()),
        (ActOutcome::Updated, Some(after.head.id), true)
    );
    assert_eq!(act.decision, decision, "unknown fields are kept");
    assert!(!act.web_search_performed && chat.proposal.is_none());
    let versions = place.client().document_versions(after.head.id, Page::all()).await.unwrap();
    let editor = Editor::Agent { agent: chat.agent, run: Some(act.run) };
    assert!(
        versions.rows.iter().any(|version| version.number == 2 && version.editor == editor),
        "{:?}",
        versions.rows
    );
    let requests = place.model.requests();
    assert_eq!(requests.len(), 2, "a decision and a rewrite");
    assert_eq!((requests[0].temperature, requests[0].model.as_deref()), (Some(0.5), None));
    // An open schema asks for a JSON object and not for just these fields.
    let schema = requests[0].output_schema.as_ref().unwrap();
    assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(true)));
    let Some(Message::User(read)) = requests[1].messages.last() else { panic!("{:?}", requests[1]) };
    assert!(read.contains("Salt the soup.") && read.contains("# Soup") && read.contains("Add salt."));
    assert!(requests[1].output_schema.is_none());
    assert_eq!(place.world.audit().await, []);
}

/// Shows: S5-R066, S5-R073, S5-R074, S5-R076, S5-R079, S5-R085, S5-R087, S5-R088, S5-R050, S5-R052, S5-R053.
#[tokio::test]
async fn a_new_document_has_what_was_decided_and_found() {
    let decision = json!({
        "should_create": true, "document_name": "Stew", "document_content": "# Stew", "needs_web_search": true,
        "search_query": "stew", "content_summary": "How to stew.",
    });
    let place = Place::of(deciding(decision, "unused")).await;
    let (act, text, _) = place.act(place.message("Write down a stew.")).await;
    assert_eq!(
        text,
        "I've created the document 'Stew' in this project.\n\n**Document Content Summary:**\nHow to stew.\n\n\
         _I performed a web search to gather initial content._"
    );
    let made = place.client().document(act.document.unwrap()).await.unwrap();
    assert_eq!((made.head.name.as_str(), made.content.as_str()), ("Stew", "# Stew\n\nThe web says so."));
    assert_eq!((act.outcome, act.web_search_performed), (ActOutcome::Created, true));
    assert_eq!(place.model.requests().len(), 1, "no second call");
}

/// Shows: S5-R053, S5-R054, S5-R055, S5-R085, S5-R093.
#[tokio::test]
async fn a_search_comes_before_the_change_and_one_that_fails_fails_nothing() {
    let edit = json!({ "should_edit": true, "document_id": 1 });
    let create = json!({ "should_create": true, "document_name": "Stew", "document_content": "# Stew" });
    for (decision, query, is_found) in [
        (&edit, "soup", true),
        (&edit, "nothing", false),
        (&create, "stew", true),
        (&create, "nothing", false),
    ] {
        let mut decision = decision.clone();
        decision["needs_web_search"] = true.into();
        decision["search_query"] = query.into();
        let place = Place::of(deciding(decision, "# Soup\n\nWater, salt.\n")).await;
        let (act, text, chat) = place.act(place.message("Go on.")).await;
        assert!(act.is_success() && act.web_search_performed == is_found, "{query}: {text}");
        assert_eq!(text.contains("web search"), is_found, "{query}: {text}");
        let items = place.client().items(chat.agent, 0, 100).await.unwrap();
        let calls = items.iter().filter_map(|item| match &item.body {
            ItemBody::Turn(turn) => Some(turn.calls.len()),
            _ => None,
        });
        assert_eq!(calls.sum::<usize>(), 1, "one search");
        let changed = place.client().document(act.document.unwrap()).await.unwrap();
        match act.outcome {
            ActOutcome::Updated => {
                let requests = place.model.requests();
                let Some(Message::User(read)) = requests[1].messages.last() else { panic!("{requests:?}") };
                assert_eq!(read.contains("The web says so."), is_found, "the rewrite reads what was found");
            }
            _ => assert_eq!(changed.content.contains("The web says so."), is_found, "{}", changed.content),
        }
    }
}

/// Shows: S5-R049, S5-R059, S5-R063, S5-R094.
#[tokio::test]
async fn an_edit_of_no_document_of_the_project_asks_which_one_and_changes_nothing() {
    let edit = |document| json!({ "should_edit": true, "document_id": document });
    // One of another project of the same user, one that there is not, and none named while one is open.
    for (decision, is_open) in [(edit(json!(2)), false), (edit(json!(99)), false), (edit(json!(null)), true)]
    {
        let place = Place::of(deciding(decision.clone(), "# Soup\n\nWater, salt.\n")).await;
        let client = place.client();
        let other = new_project(&client, "Elsewhere").await;
        let elsewhere = client.create_document(new(other.id, "Secrets", "# Secret")).await.unwrap();
        let open = is_open.then_some(place.recipes.head.id);
        let (act, text, _) = place.act(NewAct { open, ..place.message("Salt it.") }).await;
        assert_eq!((act.outcome, act.document), (ActOutcome::Clarification, None), "{decision}: {text}");
        assert!(text.contains("Which document") && text.ends_with("Recipes"), "{decision}: {text}");
        assert_eq!(place.recipes().await, place.recipes, "{decision}");
        assert_eq!(client.document(elsewhere.head.id).await.unwrap(), elsewhere, "{decision}");
        let requests = place.model.requests();
        let [Request { messages, .. }] = &requests[..] else { panic!("{requests:?}") };
        let Some(Message::User(read)) = messages.last() else { panic!("{messages:?}") };
        assert_eq!(read.contains("The currently open document is the one with id 1"), is_open);
        assert!(!read.contains("Secret"), "{read}");
    }
}

/// Shows: S5-R075, S5-R091, S5-R092.
#[tokio::test]
async fn a_new_document_keeps_the_standing_instruction_or_is_not_created_for_a_reason() {
    let create = |content: &str, standing: Value| {
        json!({
            "should_create": true, "document_name": "Stew", "document_content": content,
            "standing_instruction": standing,
        })
    };
    for (standing, kept) in [(json!("In French."), "In French."), (Value::Null, "")] {
        let place = Place::of(deciding(create("# Stew", standing), "")).await;
        let (act, ..) = place.act(place.message("Write down a stew.")).await;
        let made = place.client().document(act.document.unwrap()).await.unwrap();
        assert_eq!(made.head.standing_instruction, kept);
    }
    let place = Place::of(deciding(create(&"x".repeat(DOCUMENT_BYTES + 1), Value::Null), "")).await;
    let (act, text, _) = place.act(place.message("Write down a stew.")).await;
    assert_eq!((act.outcome, act.document), (ActOutcome::NotCreated, None));
    assert!(text.contains("encountered an issue") && text.contains(&DOCUMENT_BYTES.to_string()), "{text}");
    assert_eq!(place.client().documents(place.project.id).await.unwrap().len(), 1);
}

/// Shows: S5-R077, S5-R078, S5-R090, S5-R092, S5-R118.
#[tokio::test]
async fn a_name_that_is_taken_is_said_and_nothing_is_created() {
    let decision = json!({ "should_create": true, "document_name": "  recipes ", "needs_web_search": true, "search_query": "x" });
    let place = Place::of(deciding(decision, "unused")).await;
    let (act, text, _) = place.act(place.message("New recipes.")).await;
    assert!(text.starts_with("A document named 'recipes' already exists in this project."), "{text}");
    assert!(text.contains("Would you like me to:") && !text.contains("web search"), "{text}");
    assert_eq!((act.outcome, act.is_success()), (ActOutcome::NotCreated, false));
    let heads = place.client().document_heads(place.project.id, Page::all()).await.unwrap();
    assert_eq!(heads.rows.len(), 1);
}

/// Shows: S5-R051, S5-R054, S5-R055, S5-R095, S5-R096, S5-R097.
#[tokio::test]
async fn a_conversation_is_answered_and_changes_nothing() {
    for (decision, requests, answer) in [
        (json!({ "conversational_response": "Soup is water." }), 1, "Soup is water."),
        (json!({ "needs_web_search": true }), 2, "Written."),
        (json!({ "needs_web_search": true, "search_query": "nothing" }), 2, "Written."),
    ] {
        let place = Place::of(deciding(decision, "Written.")).await;
        let (act, text, _) = place.act(place.message("What is soup?")).await;
        assert_eq!((text.as_str(), act.outcome), (answer, ActOutcome::Conversation));
        assert!(!act.web_search_performed);
        assert_eq!(place.model.requests().len(), requests);
        assert_eq!(place.recipes().await, place.recipes);
    }
}

/// Shows: S5-R042, S5-R064, S5-R121.
#[tokio::test]
async fn a_model_that_fails_is_apologised_for_and_nothing_is_changed() {
    let edit = json!({ "should_edit": true, "document_id": 1 });
    let refused = || Err(ModelError::Refused { model: "m".into(), cause: "key org-1".into() });
    let models = [
        ScriptedModel::deciding(|_| Some(Ok(Script::text("I would rather talk.")))),
        ScriptedModel::deciding(move |_| Some(refused())),
        ScriptedModel::deciding({
            let edit = edit.clone();
            move |request| {
                Some(if is_decision(request) { Ok(Script::text(edit.to_string())) } else { refused() })
            }
        }),
        deciding(edit.clone(), " "),
    ];
    for (case, model) in models.into_iter().enumerate() {
        let place = Place::of(model).await;
        let (act, text, chat) = place.act(place.message("Salt the soup.")).await;
        assert!(!act.is_success() && !text.contains("org-1"), "{case}: {text}");
        if case < 2 {
            assert!(act.decision["error"].is_string(), "{case}: {}", act.decision);
        }
        assert_eq!(place.recipes().await, place.recipes, "{case}");
        assert_eq!(place.client().agent(chat.agent).await.unwrap().status, Status::Succeeded, "{case}");
    }
}

/// Shows: S5-R008, S5-R009, S5-R010, S5-R011, S5-R012, S5-R014, S5-R017, S5-R019, S5-R020, S5-R032.
#[tokio::test]
async fn a_chat_goes_on_unless_it_is_unknown_or_of_another_project() {
    let place = Place::of(deciding(json!({ "conversational_response": "Yes." }), "unused")).await;
    let (_, _, first) = place.act(place.message("One?")).await;
    for number in 2..=7 {
        let chat = Some(first.agent);
        let text = format!("Message {number}?");
        let (_, _, same) = place.act(NewAct { chat, project: None, ..place.message(&text) }).await;
        assert_eq!(same.agent, first.agent);
    }
    let requests = place.model.requests();
    let last = &requests.last().unwrap().messages;
    assert_eq!(last.len(), 11, "ten before, and the message: {last:?}");
    assert_eq!(last[0], Message::User("Message 2?".into()));
    assert!(
        matches!(&last[10], Message::User(text) if text.contains("Message 7?") && !text.contains("Message 6?"))
    );
    let other = new_project(&place.client(), "Other").await;
    let elsewhere = NewAct { chat: Some(first.agent), project: Some(other.id), ..place.message("Two?") };
    let (_, _, second) = place.act(elsewhere).await;
    assert_eq!((second.project, second.number), (other.id, 2));
    let (_, _, third) = place.act(NewAct { chat: Some(AgentId::new()), ..place.message("Three?") }).await;
    assert_eq!(third.number, 3);
    let eve = place.world.engine().client(Owner::new("eve"));
    let stolen = eve.act(NewAct { chat: Some(first.agent), ..place.message("Mine?") }, None).await;
    let stolen = stolen.unwrap_err();
    assert!(matches!(stolen, Error::NotFound { .. }), "neither the chat nor the project is hers: {stolen}");
    let own = new_project(&eve, "Own").await;
    let named = NewAct { chat: Some(first.agent), project: Some(own.id), ..place.message("Mine?") };
    let hers = eve.act(named, None).await.unwrap().chat;
    assert_ne!(hers, first.agent, "another owner's chat is an unknown one");
    let nowhere = NewAct { project: None, ..place.message("Where?") };
    assert!(place.client().act(nowhere, None).await.unwrap_err().to_string().contains("project"));
    assert!(place.client().act(place.message(" \n"), None).await.is_err());
}

/// A yes holds for the document as it was when the user was asked.
///
/// Shows: S5-R082, S5-R084, S5-R127.
#[tokio::test]
async fn a_confirmation_proposes_and_asks_again_if_the_document_changed_since() {
    let propose = json!({
        "pending_confirmation": true, "should_edit": true, "document_id": 1,
        "confirmation_prompt": "I'll remove the soup. Should I proceed?", "change_summary": "Remove the soup.",
    });
    let edit = json!({ "should_edit": true, "document_id": 1, "change_summary": "Remove the soup." });
    let model = ScriptedModel::deciding(move |request| {
        let said = |words: &str| matches!(request.messages.last(), Some(Message::User(text)) if text.contains(words));
        Some(Ok(Script::text(match is_decision(request) {
            true if said("Yes.") => edit.to_string(),
            true => propose.to_string(),
            false => "Gone.".to_owned(),
        })))
    });
    let place = Place::of(model).await;
    let (act, text, chat) = place.act(place.message("Remove the soup.")).await;
    assert_eq!(
        (text.as_str(), act.outcome),
        ("I'll remove the soup. Should I proceed?", ActOutcome::Confirmation)
    );
    let target = |version| Some(ProposedTarget { document: place.recipes.head.id, version });
    assert_eq!(chat.proposal.as_ref().unwrap().target, target(1));
    assert_eq!(place.recipes().await, place.recipes, "nothing is touched");
    // Somebody changes it meanwhile: the yes is for another text.
    let change =
        DocumentChange { content: Some("# Soup\n\nWater and wine.\n".into()), ..DocumentChange::default() };
    place.client().change_document(place.recipes.head.id, change, ExpectedVersion::Any).await.unwrap();
    let yes = || NewAct { chat: Some(chat.agent), ..place.message("Yes.") };
    let (act, text, again) = place.act(yes()).await;
    assert_eq!(act.outcome, ActOutcome::Confirmation, "{text}");
    assert!(text.contains("has changed since"), "{text}");
    assert_eq!(again.proposal.unwrap().target, target(2));
    assert_eq!(place.recipes().await.head.version, 2);
    let (act, _, done) = place.act(yes()).await;
    assert_eq!((act.outcome, done.proposal), (ActOutcome::Updated, None));
    assert_eq!(place.recipes().await.content, "Gone.", "less than half is left: that was confirmed");
}

/// A yes confirms one change of one document: whatever else is decided then may lose no more than usual.
///
/// Shows: S5-R064, S5-R127.
#[tokio::test]
async fn a_confirmation_covers_no_other_change_and_no_other_document() {
    let long = "# Budget\n\nRent, food, trains, books.\n";
    for (document, change, is_done) in
        [(1, "Remove the soup.", true), (1, "Translate it.", false), (2, "Remove the soup.", false)]
    {
        let propose = json!({
            "pending_confirmation": true, "should_edit": true, "document_id": 1, "change_summary": "Remove the soup.",
        });
        let edit = json!({ "should_edit": true, "document_id": document, "change_summary": change });
        let model = ScriptedModel::deciding(move |request| {
            let said = |words: &str| matches!(request.messages.last(), Some(Message::User(text)) if text.contains(words));
            Some(Ok(Script::text(match is_decision(request) {
                true if said("No! Something else.") => edit.to_string(),
                true => propose.to_string(),
                false => "S".to_owned(),
            })))
        });
        let place = Place::of(model).await;
        let budget = place.client().create_document(new(place.project.id, "Budget", long)).await.unwrap();
        let (_, _, chat) = place.act(place.message("Remove the soup.")).await;
        let answer = NewAct { chat: Some(chat.agent), ..place.message("No! Something else.") };
        let (act, text, _) = place.act(answer).await;
        assert_eq!(act.outcome == ActOutcome::Updated, is_done, "{document} {change}: {text}");
        assert_eq!(place.recipes().await.content == "S", is_done);
        assert_eq!(place.client().document(budget.head.id).await.unwrap(), budget);
    }
}

/// An answer of no use is an answer: another one is not asked for (S5-R117), and the user reads what became of it.
///
/// Shows: S5-R064, S5-R117, S5-R120.
#[tokio::test]
async fn a_second_answer_of_no_use_is_not_asked_for_again() {
    let edit = json!({ "should_edit": true, "document_id": 1 });
    let cut = || ModelError::AtTokenLimit { model: "m".into(), written: 9 };
    for (second, outcome, said) in [
        (Ok(Script::text(" \n")), ActOutcome::NotUpdated, "came back empty"),
        (Err(cut()), ActOutcome::NotUpdated, "cut off before its end"),
        (
            Err(ModelError::Refused { model: "m".into(), cause: "400".into() }),
            ActOutcome::ModelFailed,
            "sorry",
        ),
    ] {
        let decision = edit.to_string();
        let model = ScriptedModel::deciding(move |request| {
            Some(if is_decision(request) { Ok(Script::text(decision.clone())) } else { second.clone() })
        });
        let place = Place::of(model).await;
        let (act, text, _) = place.act(place.message("Salt the soup.")).await;
        assert_eq!(act.outcome, outcome, "{text}");
        assert!(text.contains(said), "{text}");
        assert_eq!(place.model.requests().len(), 2, "{text}");
        assert_eq!(act.decision["should_edit"], true);
        assert_eq!(act.decision["error"].is_string(), outcome == ActOutcome::ModelFailed, "{}", act.decision);
        assert_eq!(place.recipes().await, place.recipes);
    }
}

/// A document of more characters than the kind says is changed in places.
///
/// Shows: S5-R028, S5-R061.
#[tokio::test]
async fn a_long_document_is_changed_in_places() {
    let long = format!("# Long\n\n{}\nThe end.\n", "A line of it.\n".repeat(700));
    let edit = json!({ "should_edit": true, "document_id": 2 });
    for (answer, expected) in [
        (
            json!({ "edits": [{ "old": "The end.", "new": "An end." }] }),
            Some(long.replace("The end.", "An end.")),
        ),
        (json!({ "edits": [{ "old": "A line of it.", "new": "?" }] }), None),
        (json!({ "content": long.replace('A', "B") }), Some(long.replace('A', "B"))),
    ] {
        let (decision, answer) = (edit.to_string(), answer.to_string());
        let model = ScriptedModel::deciding(move |request| {
            let schema = request.output_schema.as_ref().unwrap();
            let is_rewrite = schema["properties"]["edits"].is_object();
            Some(Ok(Script::text(if is_rewrite { answer.clone() } else { decision.clone() })))
        });
        let place = Place::of(model).await;
        let document = place.client().create_document(new(place.project.id, "Long", &long)).await.unwrap();
        let (act, text, _) = place.act(place.message("Change the end.")).await;
        let now = place.client().document(document.head.id).await.unwrap();
        assert_eq!(now.content, expected.clone().unwrap_or(long.clone()), "{text}");
        assert_eq!(act.outcome == ActOutcome::Updated, expected.is_some(), "{text}");
        let requests = place.model.requests();
        assert_eq!(requests.len(), 2);
        let Some(Message::User(read)) = requests[0].messages.last() else { panic!("{:?}", requests[0]) };
        assert!(read.len() < long.len() && read.contains("The end."), "the decision reads an excerpt");
        let Some(Message::User(read)) = requests[1].messages.last() else { panic!("{:?}", requests[1]) };
        assert!(read.contains(&long), "the change is made to the whole");
    }
}

/// What others change while the model writes stays: a change in places is made anew in the text as it is then, and a whole
/// text, or a change whose place is gone, is not made.
///
/// Shows: S5-R094, S5-R126.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_in_places_stands_beside_what_others_change_meanwhile() {
    let long = format!("# Long\n\n{}\nThe end.\n", "A line of it.\n".repeat(700));
    let in_places = json!({ "edits": [{ "old": "The end.", "new": "An end." }] });
    let whole = json!({ "content": long.replace("The end.", "An end.") });
    for (answer, (theirs, instead), is_made) in [
        (&in_places, ("# Long", "# Longer"), true),
        (&in_places, ("The end.", "Finis."), false),
        (&whole, ("# Long", "# Longer"), false),
    ] {
        let decision = json!({ "should_edit": true, "document_id": 2 }).to_string();
        let editor: Arc<OnceLock<(Client, Document)>> = Arc::default();
        let (editing, answer) = (Arc::clone(&editor), answer.to_string());
        let model = ScriptedModel::deciding(move |request| {
            if !request.output_schema.as_ref().unwrap()["properties"]["edits"].is_object() {
                return Some(Ok(Script::text(decision.clone())));
            }
            let (client, document) = editing.get().unwrap().clone();
            let content = Some(document.content.replace(theirs, instead));
            let change = DocumentChange { content, ..DocumentChange::default() };
            let changed = client.change_document(document.head.id, change, ExpectedVersion::Exactly(1));
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(changed)).unwrap();
            Some(Ok(Script::text(answer.clone())))
        });
        let place = Place::of(model).await;
        let document = place.client().create_document(new(place.project.id, "Long", &long)).await.unwrap();
        editor.set((place.client(), document.clone())).ok().unwrap();
        let (act, text, _) = place.act(place.message("Change the end.")).await;
        assert_eq!(act.outcome == ActOutcome::Updated, is_made, "{text}");
        assert_eq!(text.contains("changed by somebody else in the meantime"), !is_made, "{text}");
        let now = place.client().document(document.head.id).await.unwrap();
        let changed = long.replace(theirs, instead);
        let expected = if is_made { changed.replace("The end.", "An end.") } else { changed };
        assert_eq!((now.content, now.head.version), (expected, 2 + u64::from(is_made)));
        assert_eq!(place.model.requests().len(), 2, "nothing is asked for again");
        assert_eq!(place.world.audit().await, []);
    }
}

/// A project that is deleted while a message is acted upon takes the chat along, and the message ends all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_that_is_deleted_meanwhile_ends_the_act_with_an_answer() {
    for decision in [
        json!({ "should_edit": true, "document_id": 1 }),
        json!({ "should_create": true, "document_name": "Stew" }),
        json!({ "needs_clarification": true }),
        json!({ "conversational_response": "Hello." }),
    ] {
        let client: Arc<OnceLock<(Client, ProjectId)>> = Arc::default();
        let deleting = Arc::clone(&client);
        let model = ScriptedModel::deciding(move |request| {
            if is_decision(request) {
                let (client, project) = deleting.get().unwrap().clone();
                tokio::task::block_in_place(|| {
                    tokio::runtime::Handle::current().block_on(client.delete_project(project)).unwrap();
                });
                return Some(Ok(Script::text(decision.to_string())));
            }
            Some(Ok(Script::text("# Soup\n\nWater, salt.\n")))
        });
        let place = Place::of(model).await;
        client.set((place.client(), place.project.id)).ok().unwrap();
        let accepted = place.client().act(place.message("Salt the soup."), None).await.unwrap();
        place.world.ended(accepted.chat).await;
        assert_eq!(
            said(&place.client(), accepted.chat).await,
            "The project of this chat was deleted. I changed nothing."
        );
        assert_eq!(place.world.audit().await, []);
    }
}

/// What the model says of its change may be long; the summary of the version is not.
#[tokio::test]
async fn a_long_summary_is_cut_and_refuses_nothing() {
    let long = "Add salt. ".repeat(100);
    let edit = json!({ "should_edit": true, "document_id": 1, "change_summary": long });
    let place = Place::of(deciding(edit, "# Soup\n\nWater, salt.\n")).await;
    let (act, text, _) = place.act(place.message("Salt the soup.")).await;
    assert_eq!(act.outcome, ActOutcome::Updated, "{text}");
    let versions = place.client().document_versions(place.recipes.head.id, Page::all()).await.unwrap();
    let summary = &versions.rows[1].summary;
    assert!(summary.chars().count() == 500 && summary.ends_with('…'), "{summary}");
    let create = json!({ "should_create": true, "document_name": "n".repeat(201), "intent_statement": long });
    let place = Place::of(deciding(create, "unused")).await;
    let (act, text, _) = place.act(place.message("Write.")).await;
    assert_eq!(act.outcome, ActOutcome::NotCreated);
    assert!(text.contains("201 characters"), "{text}");
}

/// Less than half of a text is kept only where the user was asked about that change.
///
/// Shows: S5-R064, S5-R082, S5-R127.
#[tokio::test]
async fn a_rewrite_that_loses_much_changes_nothing_and_asks() {
    // The change has no other words than those of the message until the user is asked about it.
    let model = ScriptedModel::deciding(|request| {
        let is_pending = format!("{:?}", request.messages.last()).contains("change_summary: Shorten it.");
        let summary = if is_pending { json!("shorten it") } else { Value::Null };
        let edit = json!({ "should_edit": true, "document_id": 1, "change_summary": summary });
        Some(Ok(Script::text(if is_decision(request) { edit.to_string() } else { "S".to_owned() })))
    });
    let place = Place::of(model).await;
    let (act, text, chat) = place.act(place.message("Shorten it.")).await;
    assert_eq!(act.outcome, ActOutcome::Confirmation);
    assert_eq!(
        text,
        "Less than 50 % of the document 'Recipes' would be left after this change: Shorten it. Should I proceed?"
    );
    assert_eq!(place.recipes().await, place.recipes);
    let yes = NewAct { chat: Some(chat.agent), ..place.message("Yes.") };
    let (act, _, done) = place.act(yes).await;
    assert_eq!((act.outcome, done.proposal), (ActOutcome::Updated, None));
    assert_eq!(place.recipes().await.content, "S");
}

/// What a person does who wants the soup salted: looks at what there is, and does what is missing.
pub(crate) async fn work(client: &Client) -> entourage_engine::Result<ProjectChat> {
    let kitchen = match client.project_named("Kitchen").await? {
        Some(kitchen) => kitchen,
        None => {
            let name = "Kitchen".to_owned();
            client.create_project(NewProject { name, ..NewProject::default() }).await?
        }
    };
    if client.document_named(kitchen.id, "Recipes").await?.is_none() {
        client.create_document(new(kitchen.id, "Recipes", "# Soup\n\nWater.\n")).await?;
    }
    if let Some(chat) = client.project_chats(kitchen.id, Page::all()).await?.rows.pop() {
        return Ok(chat);
    }
    let (message, chat, open) = ("Salt the soup.".to_owned(), None, None);
    let accepted = client.act(NewAct { message, project: Some(kitchen.id), chat, open }, None).await?;
    client.record(accepted.chat).await
}

/// The soup is salted, with this fault at this commit; returns how many commits there were.
async fn acted_with(decision: &Value, at: u64, fault: Fault) -> u64 {
    let model = deciding(decision.clone(), "# Soup\n\nWater, salt.\n");
    let world = builder(model).store(MemoryStore::default()).start_with(at, fault).await;
    let faults = world.faults().clone();
    let person = |world: &World| world.engine().client(Owner::local());
    let (world, chat) = insist(world, async |world| work(&person(world)).await).await;
    let (world, _) = insist(world, async |world| Ok(world.ended(chat.agent).await)).await;
    let client = world.client();
    let acts = client.acts(chat.agent, Page::all()).await.unwrap();
    let [act] = &acts[..] else { panic!("{acts:?}") };
    let documents = client.documents(chat.project).await.unwrap();
    let written = documents.iter().map(|document| (document.head.version, document.content.as_str()));
    let soup = (1, "# Soup\n\nWater.\n");
    let expected = match act.outcome {
        ActOutcome::Updated => vec![(2, "# Soup\n\nWater, salt.\n")],
        ActOutcome::Created => vec![soup, (1, "# Stew")],
        _ => vec![soup],
    };
    assert_eq!(written.collect::<Vec<_>>(), expected, "{fault:?} at {at}");
    // What was answered is asked for once, also if the process dies after the change.
    let items = client.items(chat.agent, 0, 100).await.unwrap();
    let answers = items.iter().filter(|item| matches!(item.body, ItemBody::Decision(_))).count();
    let asked = matches!(act.outcome, ActOutcome::Updated | ActOutcome::Conversation);
    assert_eq!(answers, 1 + usize::from(asked), "{:?}: {fault:?} at {at}", act.outcome);
    assert_eq!(world.audit().await, []);
    faults.commits()
}

/// Shows: S5-R016, S5-R125, S5-R126, INV-03.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_act_is_done_once_and_whole_whatever_commit_the_process_dies_at() {
    for decision in [
        json!({ "should_edit": true, "document_id": 1 }),
        json!({ "should_create": true, "document_name": "Stew", "document_content": "# Stew" }),
        json!({ "pending_confirmation": true, "confirmation_prompt": "Should I?", "document_id": 1 }),
        json!({ "needs_web_search": true, "search_query": "soup" }),
    ] {
        let commits = acted_with(&decision, u64::MAX, Fault::DieBefore).await;
        assert!(commits >= 6, "{commits}");
        for at in (1..=commits).step_by(crash_stride(2)) {
            for fault in Fault::ENDING {
                acted_with(&decision, at, fault).await;
            }
        }
    }
}
