//! Budgets: what is reserved, settled and granted, and who may do that.

use entourage_types::{
    Agent, Allowance, Amount, Budget, BudgetAction, BudgetId, Cost, EventBody, Owner, Scope, Status,
    WaitingOn,
};

use super::{
    Backing,
    handles::Handles,
    races::{Orders, ROUNDS, both, one_of, two},
    sample::{at, claim, new_child, new_root, owner},
};
use crate::{BudgetChange, Commit, Committed, DAYS_KEPT, Error, Expect, Result, Store, Write};

/// What a person does to the budget of a tree.
pub(super) fn change(tree: &Agent, owner: Owner, action: BudgetAction, amount: Amount) -> BudgetChange {
    BudgetChange::Granted { tree: tree.id, by: owner.clone(), owner, action, amount }
}

pub(super) fn amount(cost: u64, tokens: u64) -> Amount {
    Amount { cost: Cost::from_nanos(cost), tokens }
}

pub(super) fn allowance(cost: u64, tokens: u64) -> Allowance {
    Allowance { cost: Some(Cost::from_nanos(cost)), tokens: Some(tokens) }
}

/// Reserves for an agent what an allowance has room for.
async fn reserve(
    store: &impl Store,
    agent: &Agent,
    of: (&BudgetId, Allowance),
    amount: Amount,
) -> Result<Committed> {
    let own = claim(store, agent.id).await?.agent;
    let (budget, allowance) = of;
    let reserve = BudgetChange::Reserve { budget: budget.clone(), amount };
    let affords = Expect::Affords(budget.clone(), allowance, amount);
    store.commit(Commit::fenced(&own, at(1)).expect(affords).write(Write::Budget(reserve))).await
}

async fn settle(store: &impl Store, agent: &Agent, used: Option<Amount>) -> Result<()> {
    let own = claim(store, agent.id).await?.agent;
    let settle = BudgetChange::Settle { used: used.unwrap_or_default(), is_all: used.is_some() };
    store.commit(Commit::fenced(&own, at(2)).write(Write::Budget(settle))).await.map(drop)
}

pub(super) async fn read(store: &impl Store, id: &BudgetId) -> Result<Budget> {
    Ok(store.budget(&Scope::All, id).await?.unwrap_or_else(|| Budget::unused(id.clone(), owner())))
}

/// A reservation counts until it is settled; then what was used counts, or all of it if that never became known.
pub async fn a_budget_counts_what_is_reserved_and_then_what_was_used(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let root = new_root(&store, owner()).await?;
    let (first, second) = (new_child(&store, &root).await?, new_child(&store, &root).await?);
    let tree = BudgetId::Tree(root.id);
    assert_eq!(store.budget(&Scope::All, &tree).await?, None);
    let of = (&tree, allowance(10, 100));
    reserve(&store, &first, of, amount(6, 10)).await?;
    let refused = reserve(&store, &second, of, amount(5, 10)).await;
    assert!(
        matches!(&refused, Err(Error::OverBudget { left, may_have_room: true, .. }) if *left == allowance(4, 90)),
        "{refused:?}"
    );
    let refused = reserve(&store, &second, of, amount(11, 10)).await;
    assert!(matches!(refused, Err(Error::OverBudget { may_have_room: false, .. })), "{refused:?}");
    reserve(&store, &second, of, amount(4, 10)).await?;
    settle(&store, &first, Some(amount(1, 2))).await?;
    assert_eq!(read(&store, &tree).await?.spent, amount(1, 2));
    assert_eq!(read(&store, &tree).await?.reserved, amount(4, 10));
    // The usage of the second call never arrived.
    settle(&store, &second, None).await?;
    let found = read(&store, &tree).await?;
    assert_eq!((found.presumed, found.reserved), (amount(4, 10), Amount::default()));
    assert_eq!(found.left(of.1), allowance(5, 88));
    // Nothing is settled twice.
    settle(&store, &second, None).await?;
    assert_eq!(read(&store, &tree).await?, found);
    // The first agent died during its next call, and makes another one.
    reserve(&store, &first, of, amount(2, 8)).await?;
    reserve(&store, &first, of, amount(3, 8)).await?;
    let found = read(&store, &tree).await?;
    assert_eq!((found.presumed, found.reserved), (amount(6, 18), amount(3, 8)));
    assert_eq!(store.budget(&Scope::from(&Owner::new("else")), &tree).await?, None, "of another owner");
    Ok(())
}

/// What an agent has reserved itself is for a call that it has lost: no waiting gives it back.
pub async fn a_lost_reservation_of_the_writer_is_gone(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let root = new_root(&store, owner()).await?;
    let tree = BudgetId::Tree(root.id);
    let of = (&tree, allowance(10, 100));
    reserve(&store, &root, of, amount(6, 10)).await?;
    let refused = reserve(&store, &root, of, amount(6, 10)).await;
    assert!(matches!(refused, Err(Error::OverBudget { may_have_room: false, .. })), "{refused:?}");
    let own = claim(&store, root.id).await?.agent;
    let lacks = Expect::Lacks(tree.clone(), of.1, amount(6, 10));
    let given_up = Write::Budget(BudgetChange::lost());
    store.commit(Commit::fenced(&own, at(2)).expect(lacks).write(given_up)).await?;
    let found = read(&store, &tree).await?;
    assert_eq!((found.presumed, found.reserved), (amount(6, 10), Amount::default()));
    Ok(())
}

/// A grant adds to the allowance, and an agent that lacks room does not miss it.
pub async fn a_grant_adds_to_a_budget(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let root = new_root(&store, owner()).await?;
    let tree = BudgetId::Tree(root.id);
    let of = (&tree, allowance(1, 100));
    assert!(reserve(&store, &root, of, amount(3, 0)).await.is_err());
    let lacks = || Commit::new(at(3)).expect(Expect::Lacks(tree.clone(), of.1, amount(3, 0)));
    store.commit(lacks()).await?;
    let grant = |owner| change(&root, owner, BudgetAction::Grant, amount(2, 0));
    let foreign = store.commit(Commit::new(at(3)).write(Write::Budget(grant(Owner::new("else"))))).await;
    assert!(matches!(foreign, Err(Error::NoAgent { .. })), "{foreign:?}");
    store.commit(Commit::new(at(3)).write(Write::Budget(grant(owner())))).await?;
    let missed = store.commit(lacks()).await;
    assert!(matches!(missed, Err(Error::HasRoom { .. })), "{missed:?}");
    reserve(&store, &root, of, amount(3, 0)).await?;
    Ok(())
}

/// What all grants come to is counted exactly: one that would go beyond what can be counted changes nothing.
pub async fn a_grant_beyond_what_can_be_counted_is_refused(place: impl Backing) -> Result<()> {
    const MOST: u64 = i64::MAX.cast_unsigned();
    let store = place.open().await?;
    let root = new_root(&store, owner()).await?;
    let tree = BudgetId::Tree(root.id);
    let grant = async |amount| {
        let grant = change(&root, owner(), BudgetAction::Grant, amount);
        store.commit(Commit::new(at(3)).write(Write::Budget(grant))).await
    };
    grant(amount(MOST - 2, 7)).await?;
    for more in [amount(3, 0), amount(u64::MAX, 0), amount(0, MOST - 6), amount(2, u64::MAX)] {
        let refused = grant(more).await;
        assert!(
            matches!(&refused, Err(Error::TooMuchGranted { most, .. }) if *most == amount(2, MOST - 7)),
            "{more:?}: {refused:?}"
        );
        assert_eq!(read(&store, &tree).await?.granted, amount(MOST - 2, 7));
    }
    grant(amount(2, MOST - 7)).await?;
    assert_eq!(read(&store, &tree).await?.granted, amount(MOST, MOST));
    Ok(())
}

/// Grants of one commit are counted together: each may fit where all of them do not.
pub async fn grants_of_a_commit_are_counted_together(place: impl Backing) -> Result<()> {
    const MOST: u64 = i64::MAX.cast_unsigned();
    let store = place.open().await?;
    let (root, other) = (new_root(&store, owner()).await?, new_root(&store, owner()).await?);
    let tree = BudgetId::Tree(root.id);
    let grant = |to: &Agent, amount| Write::Budget(change(to, owner(), BudgetAction::Grant, amount));
    let commit = async |last| {
        let first = Commit::new(at(3)).write(grant(&root, amount(MOST - 2, 7)));
        store.commit(first.write(grant(&other, amount(MOST, MOST))).write(grant(&root, last))).await
    };
    for more in [amount(3, 0), amount(0, MOST - 6)] {
        let refused = commit(more).await;
        assert!(
            matches!(&refused, Err(Error::TooMuchGranted { budget, most }) if (budget, *most) == (&tree, amount(2, MOST - 7))),
            "{more:?}: {refused:?}"
        );
        assert_eq!(store.budget(&Scope::All, &tree).await?, None);
    }
    commit(amount(2, MOST - 7)).await?;
    assert_eq!(read(&store, &tree).await?.granted, amount(MOST, MOST));
    Ok(())
}

/// An activation reserves and settles in the budgets of its own tree and owner alone, and only an outsider grants.
pub async fn a_budget_is_changed_by_its_own_agents_alone(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let (root, other) = (new_root(&store, owner()).await?, new_root(&store, owner()).await?);
    let day = |owner| BudgetId::Day(at(0).day(), owner);
    let (own, another) = (BudgetId::Tree(root.id), BudgetId::Tree(other.id));
    let amount = amount(1, 1);
    let grant = change(&root, owner(), BudgetAction::Grant, amount);
    let reserve = |budget| BudgetChange::Reserve { budget, amount };
    for (fenced, change) in [
        (true, reserve(another)),
        (true, reserve(day(Owner::new("else")))),
        (true, grant),
        (false, reserve(own.clone())),
        (false, BudgetChange::Settle { used: amount, is_all: true }),
    ] {
        let agent = claim(&store, root.id).await?.agent;
        let commit = if fenced { Commit::fenced(&agent, at(1)) } else { Commit::new(at(1)) };
        let refused = store.commit(commit.write(Write::Budget(change.clone()))).await;
        assert!(matches!(refused, Err(Error::RuleViolation(_))), "{change:?}: {refused:?}");
    }
    let agent = claim(&store, root.id).await?.agent;
    let both = Commit::fenced(&agent, at(1))
        .write(Write::Budget(reserve(day(owner()))))
        .write(Write::Budget(reserve(own)));
    store.commit(both).await?;
    assert_eq!(read(&store, &day(owner())).await?.reserved, amount);
    Ok(())
}

/// The budget of a tree is removed with the tree; of an agent that is removed nothing stays reserved.
pub async fn a_budget_is_removed_with_its_tree(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let root = new_root(&store, owner()).await?;
    let child = new_child(&store, &root).await?;
    let (tree, day) = (BudgetId::Tree(root.id), BudgetId::Day(at(0).day(), owner()));
    for budget in [&tree, &day] {
        reserve(&store, &child, (budget, Allowance::default()), amount(2, 3)).await?;
    }
    store.commit(Commit::new(at(3)).write(Write::PruneAgent(child.id))).await?;
    for budget in [&tree, &day] {
        let found = read(&store, budget).await?;
        assert_eq!((found.presumed, found.reserved), (amount(2, 3), Amount::default()));
    }
    store.commit(Commit::new(at(3)).write(Write::PruneAgent(root.id))).await?;
    assert_eq!(store.budget(&Scope::All, &tree).await?, None);
    assert_eq!(read(&store, &day).await?.presumed, amount(2, 3), "the day is not over");
    Ok(())
}

/// Budgets of days are kept for a month, and those of trees with their trees.
pub async fn budgets_of_days_long_past_are_removed(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let root = new_root(&store, owner()).await?;
    let (today, tree) = (at(0).day(), BudgetId::Tree(root.id));
    let day = |day| BudgetId::Day(day, owner());
    for budget in [&day(today), &tree] {
        reserve(&store, &root, (budget, Allowance::default()), amount(2, 3)).await?;
    }
    settle(&store, &root, Some(amount(1, 1))).await?;
    let days = |count: u16| (0..count).fold(today, |day, _| day.next());
    for (later, is_kept) in [(DAYS_KEPT, true), (DAYS_KEPT + 1, false)] {
        let next = day(days(later));
        reserve(&store, &root, (&next, Allowance::default()), amount(1, 1)).await?;
        settle(&store, &root, Some(amount(1, 1))).await?;
        assert_eq!(store.budget(&Scope::All, &day(today)).await?.is_some(), is_kept, "{later} days later");
        assert!(store.budget(&Scope::All, &next).await?.is_some());
    }
    assert!(store.budget(&Scope::All, &tree).await?.is_some());
    Ok(())
}

/// Of two calls that ask for the last of a budget at once, one gets it.
pub async fn two_calls_cannot_both_reserve_the_last_of_a_budget<P: Handles>(place: P) -> Result<()> {
    let handles = two(&place).await?;
    let mut orders = Orders::default();
    for round in 0..ROUNDS {
        let store = &*handles[0];
        let root = new_root(store, owner()).await?;
        let (first, second) = (new_child(store, &root).await?, new_child(store, &root).await?);
        let budget = BudgetId::Tree(root.id);
        let reserve = async |agent: &Agent| {
            let own = claim(store, agent.id).await?.agent;
            let affords = Expect::Affords(budget.clone(), allowance(10, 100), amount(7, 10));
            let reserve = BudgetChange::Reserve { budget: budget.clone(), amount: amount(7, 10) };
            Ok::<_, Error>(Commit::fenced(&own, at(1)).expect(affords).write(Write::Budget(reserve)))
        };
        let commits = (reserve(&first).await?, reserve(&second).await?);
        let outcomes = both(&handles, round, commits.0, commits.1).await?;
        one_of(&outcomes, |refusal| matches!(refusal, Error::OverBudget { may_have_room: true, .. }));
        orders.saw(outcomes.0.is_ok());
        assert_eq!(read(store, &budget).await?.reserved, amount(7, 10));
    }
    Ok(())
}

/// An agent goes to sleep because a budget lacks room, while somebody grants more: it sleeps before the grant, which
/// finds it then, or not at all.
pub async fn nobody_falls_asleep_over_a_budget_behind_a_grant(place: impl Handles) -> Result<()> {
    let (handles, mut orders) = (two(&place).await?, Orders::default());
    for round in 0..ROUNDS {
        let store = &*handles[0];
        let root = new_root(store, owner()).await?;
        let own = claim(store, root.id).await?.agent;
        let lacks = Expect::Lacks(BudgetId::Tree(root.id), allowance(1, 100), amount(3, 0));
        let asleep = Agent { status: Status::Waiting, waiting_on: Some(WaitingOn::Retry), ..own.clone() };
        let sleep = Commit::fenced(&own, at(2)).expect(lacks).write(Write::Agent(asleep));
        let granted = change(&root, owner(), BudgetAction::Grant, amount(2, 0));
        let grant = Commit::new(at(2)).write(Write::Budget(granted));
        let (slept, granted) = both(&handles, round, sleep, grant).await?;
        granted?;
        orders.saw(slept.is_ok());
        let events = store.events(&Scope::All, root.id, 0, 100).await?;
        let granted = events.iter().position(|event| matches!(event.body, EventBody::Budget { .. }));
        let slept_at = events
            .iter()
            .position(|event| matches!(event.body, EventBody::AgentStatus { status: Status::Waiting, .. }));
        match slept {
            Ok(_) => assert!(slept_at.is_some() && slept_at < granted, "{events:?}"),
            Err(Error::HasRoom { .. }) => assert_eq!(slept_at, None),
            Err(other) => panic!("{other:?}"),
        }
    }
    Ok(())
}
