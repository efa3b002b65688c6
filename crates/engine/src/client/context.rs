//! What an agent's model sees, block by block: where its window, its cache and its money go.

use entourage_llm::Message;
use entourage_store::ItemQuery;
use entourage_types::{Agent, AgentId, Cost, Item, ItemBody, ModelUse, Usage};

use super::Client;
use crate::{
    Result,
    prompt::{self, BYTES, View, density},
    toolset::{Holder, Position},
};

/// The most blocks that the conversation is shown in.
const BLOCKS: usize = 12;

/// What an agent's model would see if it were asked now. Tokens are estimated, and corrected by the
/// provider's last count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Which agent.
    pub agent: AgentId,
    /// The model that answered last, as `provider::name`; none before the first answer.
    pub model: Option<String>,
    /// The smallest context window of the agent's models, in tokens; none if unknown.
    pub window: Option<u64>,
    /// The tokens of all blocks.
    pub tokens: u64,
    /// How many of these, counted from the beginning, the last call read from the provider's cache.
    pub cached: u64,
    /// What all of it costs per call, if the price is known.
    pub cost: Option<Cost>,
    /// The blocks, in the order in which the model reads them.
    pub blocks: Vec<Block>,
}

/// One part of what a model sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// What it is: `tools`, `instructions`, `sessions`, `digest`, `conversation`, or the name of a section, whose
    /// lines stand between the items of the conversation.
    pub name: String,
    /// The numbers of its first and last item, if it consists of items.
    pub items: Option<(u64, u64)>,
    /// Its tokens.
    pub tokens: u64,
    /// How many of them the last call read from the provider's cache.
    pub cached: u64,
    /// What it costs per call, if the price is known.
    pub cost: Option<Cost>,
}

/// A block before its tokens and costs are computed.
struct Part {
    name: String,
    items: Option<(u64, u64)>,
    bytes: usize,
}

impl Client {
    /// What an agent's model would see if it were asked now.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`]; [`crate::Error::UnknownKind`] if the agent's kind was removed.
    pub async fn context(&self, agent: AgentId) -> Result<Seen> {
        let agent = self.agent(agent).await?;
        let engine = &self.engine;
        let kind = engine.kind_at_work(&agent).await?;
        let memory = engine.memory(&agent);
        let items = self.session_items(&agent).await?;
        let position = Position::of(&agent, &kind, &items);
        let switches = match self.open_run(&agent).await? {
            Some(run) => run.switches,
            None => engine.switches_for(&agent).await?,
        };
        let servers = engine.owner_servers(&agent.owner);
        let holder = Holder { owner: &agent.owner, switches: &switches, servers: &servers };
        let offer = engine.offer(&kind, position, &holder);
        let sessions = memory.latest_sessions(kind.context.summaries()).await?;
        let view = View::of(&items, &kind);
        let part = |name: &str, bytes: usize| Part { name: name.to_owned(), items: None, bytes };
        let mut parts = vec![
            part("tools", offer.weight),
            part("instructions", prompt::system(&kind, &[]).len()),
            part("sessions", prompt::earlier(&sessions).len()),
            part("digest", view.digest.map_or(0, |digest| digest.text.len())),
        ];
        // The view weighs the rest itself.
        let beside = parts.iter().take(2).map(|part| part.bytes).sum();
        parts.extend(conversation(&view));
        let sections = memory.sections(&kind, &offer, &view).await?;
        let unread = sections.unread(&kind.context, &view, engine.now()).unwrap_or_default();
        for section in &kind.context.sections {
            let read = view.contexts().flat_map(|context| &context.entries);
            let entries = read.chain(&unread.entries).filter(|entry| entry.section == *section);
            parts.push(part(section.as_str(), entries.map(|entry| entry.text.len()).sum()));
        }
        let density = density(&items, &kind, beside);
        let last = items.iter().rev().find_map(|item| match &item.body {
            ItemBody::Turn(turn) => turn.used.clone(),
            _ => None,
        });
        let mut window = None;
        for model in engine.models_of(&kind) {
            // Runs ask the model's server only before a long request, and maybe in another process.
            engine.model().learn(model.as_deref()).await;
            let known = engine.model().profile(model.as_deref()).context_window;
            window = known.into_iter().chain(window).min();
        }
        let blocks = self.priced(parts, density, last.as_ref());
        let total = |of: fn(&Block) -> u64| blocks.iter().map(of).sum();
        let costs: Option<Vec<Cost>> = blocks.iter().map(|block| block.cost).collect();
        Ok(Seen {
            agent: agent.id,
            model: last.map(|used| used.model),
            window: window.map(u64::from),
            tokens: total(|block| block.tokens),
            cached: total(|block| block.cached),
            cost: costs.map(|costs| costs.into_iter().fold(Cost::default(), added)),
            blocks,
        })
    }

    /// The conversation as an agent's model would read it now, without what comes before and after it.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`]; [`crate::Error::UnknownKind`] if the agent's kind was removed.
    pub async fn history(&self, agent: AgentId) -> Result<Vec<Message>> {
        let agent = self.agent(agent).await?;
        let kind = self.engine.kind_at_work(&agent).await?;
        let items = self.session_items(&agent).await?;
        Ok(View::of(&items, &kind).messages(false))
    }

    /// The items of an agent's open session.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn session_items(&self, agent: &Agent) -> Result<Vec<Item>> {
        let before = self.engine.memory(agent).latest_sessions(1).await?;
        let from = before.first().map_or(0, |session| session.items.1 + 1);
        let query = ItemQuery::of(agent.id, from, u32::MAX);
        let mut items = self.engine.store().items(&self.scope, query).await?;
        items.retain(|item| item.session == agent.session);
        Ok(items)
    }

    fn priced(&self, parts: Vec<Part>, density: usize, last: Option<&ModelUse>) -> Vec<Block> {
        let mut cached_left = last.map_or(0, |used| used.usage.cached);
        let parts = parts.into_iter().filter(|part| part.bytes > 0);
        let blocks = parts.map(|Part { name, items, bytes }| {
            let tokens = (bytes * density / 100).div_ceil(BYTES) as u64;
            // A cache holds the beginning of what was sent.
            let cached = tokens.min(cached_left);
            cached_left -= cached;
            let usage = Usage { input: tokens, cached, ..Usage::default() };
            let cost = last.and_then(|used| self.engine.model().price(Some(&used.model), &usage));
            Block { name, items, tokens, cached, cost }
        });
        blocks.collect()
    }
}

fn added(mut sum: Cost, cost: Cost) -> Cost {
    sum += cost;
    sum
}

/// The conversation as blocks of whole turns, several turns per block if there are many.
fn conversation(view: &View<'_>) -> Vec<Part> {
    let mut begins: Vec<usize> = view.beginnings().collect();
    let each = begins.len().div_ceil(BLOCKS).max(1);
    begins = begins.into_iter().step_by(each).collect();
    let ends = begins.iter().skip(1).copied().chain([view.items.len()]);
    let ranges = begins.iter().copied().zip(ends);
    ranges
        .filter_map(|(begin, end)| {
            let items = &view.items[begin..end];
            let (first, last) = (items.first()?.seq, items.last()?.seq);
            let view = View { items, digest: None, opening: None, ..*view };
            let bytes = view.weight() - view.weight_of_contexts();
            Some(Part { name: "conversation".to_owned(), items: Some((first, last)), bytes })
        })
        .collect()
}
