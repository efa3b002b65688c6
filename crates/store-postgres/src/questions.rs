//! What a commit asks of the rows before it is judged: as few statements as possible, all of them in one round trip.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use entourage_store::{BudgetChange, Commit, Write, judge::Lookup};
use entourage_types::{AgentId, BudgetId, EntityKind, Parent, RunId};

use crate::{agents, budgets, entities, inbox, runs, statement::Statement};

/// A part of what is to be read, by one statement.
pub(crate) enum Part {
    Agents(Vec<AgentId>),
    Runs(Vec<RunId>),
    Records(Vec<(EntityKind, String)>),
    Budgets(BTreeSet<BudgetId>, Vec<AgentId>),
    /// The rows of reservations, which follow those of the budgets.
    Held,
    One(Lookup),
}

/// What is to be read: statements, and what they are about.
#[derive(Default)]
pub(crate) struct Questions {
    pub(crate) parts: Vec<Part>,
    pub(crate) statements: Vec<Statement>,
}

impl Questions {
    /// What a commit is known to depend on, also for what its writes do to sums.
    pub(crate) fn of(commit: &Commit) -> Self {
        let mut sought = Sought::default();
        commit.lookups().into_iter().for_each(|lookup| sought.add(lookup));
        for write in &commit.writes {
            match write {
                Write::Post(post) => sought.agent(post.agent),
                Write::Record(record, _) => {
                    if let Some(Parent::Record(kind, id)) = &record.parent {
                        sought.parents.insert((*kind, id.clone()));
                    }
                }
                Write::Budget(BudgetChange::Reserve { budget, .. }) => sought.budget(budget.clone()),
                Write::PruneAgent(agent) => drop(sought.holders.insert(*agent)),
                _ => {}
            }
            if let (Write::Budget(_), Some(fence)) = (write, commit.fence) {
                sought.holders.insert(fence.agent);
            }
        }
        sought.questions()
    }

    /// One lookup.
    pub(crate) fn one(lookup: Lookup) -> Self {
        let mut sought = Sought::default();
        sought.add(lookup);
        sought.questions()
    }

    fn push(&mut self, part: Part, statement: Statement) {
        self.parts.push(part);
        self.statements.push(statement);
    }
}

/// What is sought, each once.
#[derive(Default)]
struct Sought {
    agents: BTreeSet<AgentId>,
    runs: BTreeSet<RunId>,
    records: BTreeMap<(&'static str, String), EntityKind>,
    /// Records to which others are to belong: they stay.
    parents: HashSet<(EntityKind, String)>,
    budgets: BTreeSet<BudgetId>,
    holders: BTreeSet<AgentId>,
    others: Vec<Lookup>,
}

impl Sought {
    fn agent(&mut self, agent: AgentId) {
        self.agents.insert(agent);
    }

    fn budget(&mut self, budget: BudgetId) {
        self.budgets.insert(budget);
    }

    fn add(&mut self, lookup: Lookup) {
        match lookup {
            Lookup::Agent(agent)
            | Lookup::AgentExists(agent)
            | Lookup::IsLiving(agent)
            | Lookup::PostsOrWakeups(agent) => self.agent(agent),
            Lookup::AgentOfRun(run) => drop(self.runs.insert(run)),
            Lookup::RecordState(kind, id) => drop(self.records.insert((kind.as_str(), id), kind)),
            Lookup::Budget(budget) => self.budget(budget),
            Lookup::Reservation(_, agent) => drop(self.holders.insert(agent)),
            other if self.others.contains(&other) => {}
            other => self.others.push(other),
        }
    }

    fn questions(self) -> Questions {
        let mut questions = Questions::default();
        // In an order of their own: another commit may want the same parents.
        let (parents, others): (Vec<_>, Vec<_>) = self
            .records
            .into_iter()
            .map(|((_, id), kind)| (kind, id))
            .partition(|record| self.parents.contains(record));
        for (records, stay) in [(parents, true), (others, false)] {
            if !records.is_empty() {
                let statement = entities::states(&records, stay);
                questions.push(Part::Records(records), statement);
            }
        }
        if !self.budgets.is_empty() || !self.holders.is_empty() {
            let holders: Vec<_> = self.holders.into_iter().collect();
            let [rows, held] = budgets::lock(&self.budgets, &holders);
            questions.push(Part::Budgets(self.budgets, holders), rows);
            questions.push(Part::Held, held);
        }
        if !self.agents.is_empty() {
            let ids: Vec<_> = self.agents.iter().map(|agent| agent.uuid()).collect();
            let statement = Statement::whole(&format!(
                "SELECT {}, EXISTS (SELECT 1 FROM inbox WHERE inbox.agent = agents.id), \
                 EXISTS (SELECT 1 FROM wakeups WHERE wakeups.agent = agents.id) FROM agents WHERE id = ANY ($1)",
                agents::COLUMNS
            ));
            questions.push(Part::Agents(self.agents.into_iter().collect()), statement.bind(ids));
        }
        if !self.runs.is_empty() {
            let statement = runs::before(self.runs.iter().map(|run| run.uuid()).collect());
            questions.push(Part::Runs(self.runs.into_iter().collect()), statement);
        }
        for lookup in self.others {
            let statement = query(&lookup);
            questions.push(Part::One(lookup), statement);
        }
        questions
    }
}

/// The query of a lookup that has one of its own.
fn query(lookup: &Lookup) -> Statement {
    let of_agent = |sql: &str, agent: &AgentId| Statement::whole(sql).bind(agent.uuid());
    match lookup {
        Lookup::ConflictingAgent { id, root, key } => Statement::whole(
            "SELECT id FROM agents WHERE id = $1 UNION ALL SELECT id FROM agents WHERE root = $2 AND key = $3 LIMIT 1",
        )
        .bind(id.uuid())
        .bind(root.uuid())
        .bind(key.as_ref().map(|key| crate::statement::storable(key.to_string()))),
        Lookup::HolderOfName(kind, owner, name) => {
            let holder = "SELECT id FROM entities WHERE kind = $1 AND owner = $2 AND name = $3";
            Statement::whole(holder).text(kind).text(owner).text(name)
        }
        Lookup::LivingInTree(root) => of_agent(
            "SELECT (SELECT count(*) FROM agents WHERE root = $1 AND living AND id <> root) \
             + (SELECT count(*) FROM agents WHERE id = $1 AND (ended_as IS NULL \
             OR EXISTS (SELECT 1 FROM inbox WHERE inbox.agent = $1)))",
            root,
        ),
        Lookup::LivingChildren(parent) => of_agent(
            "SELECT count(*) FROM agents WHERE root = (SELECT root FROM agents WHERE id = $1) AND parent = $1 AND living \
             AND id <> root",
            parent,
        ),
        Lookup::CreatedSince(root, since) => {
            of_agent("SELECT count(*) FROM agents WHERE root = $1 AND created >= $2", root).bind(since.micros())
        }
        Lookup::UndeletedChild(parent) => {
            of_agent("SELECT id FROM agents WHERE parent = $1 AND status <> 'cancelled' LIMIT 1", parent)
        }
        Lookup::InboxSize(agent, most) => inbox::size(*agent, *most),
        Lookup::LastCreated(root) => of_agent("SELECT id FROM agents WHERE root = $1 ORDER BY n DESC LIMIT 1", root),
        Lookup::ActiveSince(root, since) => of_agent(
            "SELECT id FROM agents WHERE root = $1 AND (active OR updated > $2 \
             OR EXISTS (SELECT 1 FROM inbox WHERE inbox.agent = agents.id) \
             OR EXISTS (SELECT 1 FROM wakeups WHERE wakeups.agent = agents.id)) LIMIT 1",
            root,
        )
        .bind(since.micros()),
        Lookup::Dependents(agent) => of_agent(
            "SELECT id FROM agents WHERE parent = $1 UNION SELECT id FROM agents WHERE root = $1 AND id <> $1",
            agent,
        ),
        // Read with others.
        Lookup::Agent(agent)
        | Lookup::AgentExists(agent)
        | Lookup::IsLiving(agent)
        | Lookup::PostsOrWakeups(agent)
        | Lookup::Reservation(_, agent) => of_agent("SELECT id FROM agents WHERE id = $1", agent),
        Lookup::AgentOfRun(run) => Statement::whole("SELECT agent FROM runs WHERE id = $1").bind(run.uuid()),
        Lookup::RecordState(kind, id) => {
            Statement::whole("SELECT id FROM entities WHERE kind = $1 AND id = $2").text(kind).text(id)
        }
        Lookup::Budget(budget) => Statement::whole("SELECT id FROM budgets WHERE id = $1").text(budget),
    }
}
