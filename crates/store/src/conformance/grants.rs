//! Grants of budgets: the events that tell of them, and what of them can be taken back.

use entourage_types::{AgentId, Amount, BudgetAction, BudgetId, EventBody, Owner, Scope};

use super::{
    Backing,
    budgets::{allowance, amount, change, read},
    handles::Handles,
    races::{Orders, ROUNDS, both, one_of, two},
    sample::{at, claim, new_root, owner},
};
use crate::{BudgetChange, Commit, Error, Expect, Result, Store, Write};

/// What was granted and taken back, as the events of a tree tell it.
async fn told(store: &impl Store, root: AgentId) -> Result<Vec<(Owner, BudgetAction, Amount)>> {
    let events = store.events(&Scope::All, root, 0, 100).await?.into_iter();
    let told = events.filter_map(|event| match event.body {
        EventBody::Budget { by, action, amount } if event.agent == root => Some((by, action, amount)),
        _ => None,
    });
    Ok(told.collect())
}

/// Each grant, and each time that some is taken back, is an event of the tree, with who did it; what was not granted is
/// not taken back, and leaves no event.
pub async fn a_grant_is_told_with_who_made_it_and_can_be_taken_back(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let root = new_root(&store, owner()).await?;
    let tree = BudgetId::Tree(root.id);
    let by = |by: &str, action, amount| {
        let (tree, owner, by) = (root.id, owner(), Owner::new(by));
        Commit::new(at(3)).write(Write::Budget(BudgetChange::Granted { tree, owner, by, action, amount }))
    };
    let (grant, back) = (BudgetAction::Grant, BudgetAction::TakeBack);
    let refused = store.commit(by("ann", back, amount(1, 0))).await;
    assert!(matches!(&refused, Err(Error::TooMuchTakenBack { most, .. }) if most.is_zero()), "{refused:?}");
    assert_eq!(store.budget(&Scope::All, &tree).await?, None);
    store.commit(by("ann", grant, amount(5, 50))).await?;
    store.commit(by("bob", back, amount(2, 50))).await?;
    for more in [amount(4, 0), amount(0, 1), amount(u64::MAX, u64::MAX)] {
        let refused = store.commit(by("eve", back, more)).await;
        assert!(
            matches!(&refused, Err(Error::TooMuchTakenBack { budget, most }) if (budget, *most) == (&tree, amount(3, 0))),
            "{more:?}: {refused:?}"
        );
    }
    assert_eq!(read(&store, &tree).await?.granted, amount(3, 0));
    drop(store);
    let store = place.open().await?;
    let expected = [(Owner::new("ann"), grant, amount(5, 50)), (Owner::new("bob"), back, amount(2, 50))];
    assert_eq!(told(&store, root.id).await?, expected);
    Ok(())
}

/// What one commit grants and takes back is counted in its order.
pub async fn grants_and_what_is_taken_back_in_a_commit_are_counted_together(
    place: impl Backing,
) -> Result<()> {
    let store = place.open().await?;
    let root = new_root(&store, owner()).await?;
    let tree = BudgetId::Tree(root.id);
    let commit = async |changes: &[(BudgetAction, u64)]| {
        let mut commit = Commit::new(at(3));
        for (action, tokens) in changes {
            commit.push(Write::Budget(change(&root, owner(), *action, amount(0, *tokens))));
        }
        store.commit(commit).await
    };
    let (grant, back) = (BudgetAction::Grant, BudgetAction::TakeBack);
    for refused in [&[(grant, 5), (back, 3), (back, 3)][..], &[(back, 1), (grant, 5)]] {
        let refused = commit(refused).await;
        assert!(matches!(refused, Err(Error::TooMuchTakenBack { .. })), "{refused:?}");
        assert_eq!(told(&store, root.id).await?, []);
    }
    commit(&[(grant, 5), (back, 3), (back, 2), (grant, 7)]).await?;
    assert_eq!(read(&store, &tree).await?.granted, amount(0, 7));
    assert_eq!(told(&store, root.id).await?.len(), 4);
    Ok(())
}

/// Two people take the same grant back at once: one of them gets it.
pub async fn what_was_granted_is_taken_back_once(place: impl Handles) -> Result<()> {
    let (handles, mut orders) = (two(&place).await?, Orders::default());
    for round in 0..ROUNDS {
        let root = new_root(&*handles[0], owner()).await?;
        let change = |action, tokens| {
            Commit::new(at(2)).write(Write::Budget(change(&root, owner(), action, amount(0, tokens))))
        };
        handles[0].commit(change(BudgetAction::Grant, 10)).await?;
        let back = || change(BudgetAction::TakeBack, 6);
        let outcomes = both(&handles, round, back(), back()).await?;
        one_of(
            &outcomes,
            |refusal| matches!(refusal, Error::TooMuchTakenBack { most, .. } if *most == amount(0, 4)),
        );
        orders.saw(outcomes.0.is_ok());
        for handle in &handles {
            assert_eq!(read(&**handle, &BudgetId::Tree(root.id)).await?.granted, amount(0, 4));
            assert_eq!(told(&**handle, root.id).await?.len(), 2);
        }
    }
    Ok(())
}

/// A grant is taken back while a call reserves it: one of the two is refused, so that what is left is never below zero.
pub async fn a_grant_is_either_taken_back_or_reserved(place: impl Handles) -> Result<()> {
    let (handles, mut orders) = (two(&place).await?, Orders::default());
    for round in 0..ROUNDS {
        let root = new_root(&*handles[0], owner()).await?;
        let tree = BudgetId::Tree(root.id);
        let change =
            |action| Commit::new(at(2)).write(Write::Budget(change(&root, owner(), action, amount(0, 10))));
        handles[0].commit(change(BudgetAction::Grant)).await?;
        let of = allowance(0, 3);
        let back = change(BudgetAction::TakeBack).expect(Expect::Affords(tree.clone(), of, amount(0, 10)));
        let own = claim(&*handles[0], root.id).await?.agent;
        let affords = Expect::Affords(tree.clone(), of, amount(0, 5));
        let reserve = BudgetChange::Reserve { budget: tree.clone(), amount: amount(0, 5) };
        let reserve = Commit::fenced(&own, at(2)).expect(affords).write(Write::Budget(reserve));
        let outcomes = both(&handles, round, back, reserve).await?;
        one_of(&outcomes, |refusal| matches!(refusal, Error::OverBudget { .. }));
        orders.saw(outcomes.0.is_ok());
        let found = read(&*handles[1], &tree).await?;
        let left = if outcomes.0.is_ok() { allowance(0, 3) } else { allowance(0, 8) };
        assert_eq!(found.left(of), left, "{found:?}");
    }
    Ok(())
}
