//! The Rust that `docs/agency.md` shows, so that it is compiled. A test of `entourage` compares the
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
