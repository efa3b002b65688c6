//! The Rust that `docs/agency.md` and `docs/documents.md` show, so that it is compiled. A test of `entourage` compares the
//! text.

use std::sync::Arc;

use entourage::{
    agency::Agent,
    async_trait,
    schemars::{self, JsonSchema},
    serde::Deserialize,
};

/// The arguments of a tool.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "entourage::serde")]
struct Code {
    /// What to run.
    code: String,
}

async fn run(code: Code) -> String {
    code.code
}

async fn compiles(text: &str) -> Result<(), &'static str> {
    if text.is_empty() { Err("there is no code") } else { Ok(()) }
}

/// "In Rust".
pub async fn in_rust() -> entourage::Result<()> {
    use entourage::agency::{Agency, Agent, Guardrail, function_tool};

    let ceo = Agent::builder("Ceo").instructions("Have it written, then answer.").build()?;
    let developer = Agent::builder("Developer")
        .instructions("You write Rust.")
        .model("openai::gpt-5-mini")
        .tool(function_tool("run", "Runs code.", |_, code: Code| async move { run(code).await }))
        .response_validator(Guardrail::new("compiles", |answer| async move { compiles(&answer.text).await }))
        .build()?;
    let agency = Agency::new([&ceo], [(&ceo, &developer)])
        .shared_instructions("Be brief.")
        .database("agency.db") // or .in_memory()
        .open()
        .await?;
    let result = agency.get_response("A greeting, please").chat_id("first").await?;
    println!("{}", result.final_output.unwrap_or_default());
    Ok(())
}

/// A database outside Entourage.
pub struct Conversations;

impl Conversations {
    async fn rows(&self, _: &ThreadKey) -> Result<Vec<Item>, ThreadStoreError> {
        Ok(Vec::new())
    }

    async fn insert(&self, _: &ThreadKey, _: &[Item]) -> Result<(), ThreadStoreError> {
        Ok(())
    }
}

use entourage::{
    agency::{Agency, ThreadKey, ThreadStore, ThreadStoreError},
    types::{Item, ItemBody},
};

#[async_trait]
impl ThreadStore for Conversations {
    async fn load(&self, thread: &ThreadKey) -> Result<Vec<ItemBody>, ThreadStoreError> {
        Ok(self.rows(thread).await?.into_iter().map(|item| item.body).collect())
    }

    async fn save(&self, thread: &ThreadKey, items: &[Item]) -> Result<(), ThreadStoreError> {
        // `insert … on conflict (run, seq) do nothing`: an item may come again after a crash.
        self.insert(thread, items).await
    }
}

/// "Threads in a database of your own".
pub async fn kept(ceo: Agent, developer: Agent, conversations: Conversations) -> entourage::Result<Agency> {
    let agency = Agency::new([&ceo], [(&ceo, &developer)])
        .in_memory()
        .thread_store(Arc::new(conversations))
        .open()
        .await?;
    Ok(agency)
}

/// What `docs/documents.md` shows.
pub mod documents {
    /// "In Rust".
    pub async fn in_rust(client: &Client) -> entourage::engine::Result<()> {
        let (trip, _) = plan(client).await?;
        ask(client, trip).await
    }

    use entourage::engine::{
        Client, DocumentChange, ExpectedVersion, NewAct, NewProject, responses::StreamEvent,
    };
    use entourage::types::{DocumentId, NewDocument, ProjectId};

    async fn plan(client: &Client) -> entourage::engine::Result<(ProjectId, DocumentId)> {
        let trip = client.create_project(NewProject { name: "Trip".into(), ..NewProject::default() }).await?;
        let plan = NewDocument {
            project: trip.id,
            name: "Plan".into(),
            standing_instruction: "Be brief.".into(),
            content: "By car.\n".into(),
            summary: "A first idea.".into(),
        };
        let plan = client.create_document(plan).await?;
        let change = DocumentChange { content: Some("By train.\n".into()), ..DocumentChange::default() };
        let seen = ExpectedVersion::Exactly(plan.head.version);
        let plan = client.change_document(plan.head.id, change, seen).await?;
        println!("{}", client.document_diff(plan.head.id, 1, 2).await?);
        Ok((trip.id, plan.head.id))
    }

    async fn ask(client: &Client, trip: ProjectId) -> entourage::engine::Result<()> {
        let new = NewAct { message: "Add a packing list.".into(), project: Some(trip), ..NewAct::default() };
        let accepted = client.act(new, None).await?; // on record
        let mut events = client.follow_act(accepted).await?;
        while let Some(event) = events.next().await.transpose()? {
            if let StreamEvent::Done(result) = event
                && let Some(came) = client.act_result(result.run_id).await?
            {
                println!("{}", came.answer.text);
            }
        }
        Ok(())
    }
}
