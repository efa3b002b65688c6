//! Sums of usage.

use std::time::Duration;

use entourage_types::{
    Agent, Cost, ModelUse, Owner, Run, RunId, Scope, Status, Tally, Time, Usage, UsageBy, UsageRow,
};

use super::{
    Backing,
    sample::{at, claim, new_child, new_root, owner, run, stranger},
};
use crate::{Commit, Result, Store, UsageQuery, Write};

/// An answer that its tokens distinguish from the others.
fn answer(model: &str, input: u64, cost: Option<u64>) -> ModelUse {
    let usage = Usage { input, output: 2, cached: 3, cache_written: 4, reasoning: 1 };
    ModelUse { model: model.to_owned(), usage, cost: cost.map(Cost::from_nanos) }
}

/// Stores and returns a run of this agent with these answers.
async fn ran(store: &impl Store, agent: &Agent, status: Status, answers: &[(Time, ModelUse)]) -> Result<Run> {
    let agent = claim(store, agent.id).await?.agent;
    let mut run = Run { status, ..run(&agent) };
    for (at, used) in answers {
        run.charge(used, *at);
    }
    store.commit(Commit::fenced(&agent, at(2)).write(Write::Run(run.clone()))).await?;
    Ok(run)
}

/// Usage is summed by every grouping and over every part, for the owner alone, and on the day on which it was
/// counted.
pub async fn usage_is_summed_by_every_grouping(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let (today, tomorrow) = (at(0), at(0) + Duration::from_secs(24 * 60 * 60));
    let root = new_root(&store, owner()).await?;
    let child = new_child(&store, &root).await?;
    let other = new_root(&store, stranger()).await?;
    let first = ran(
        &store,
        &root,
        Status::Running,
        &[
            (today, answer("a", 10, Some(7))),
            (today, answer("a", 100, None)),
            (tomorrow, answer("b", 1_000, Some(1))),
        ],
    )
    .await?;
    let second =
        ran(&store, &child, Status::Succeeded, &[(today, answer("a", 10_000, Some(u64::from(u32::MAX))))])
            .await?;
    ran(&store, &other, Status::Failed, &[(today, answer("a", 100_000, Some(1)))]).await?;

    let inputs = |query: UsageQuery| {
        let scope = Scope::Owner(owner());
        let store = &store;
        async move {
            Ok::<_, crate::Error>(store.usage(&scope, query).await?.iter().map(input).collect::<Vec<_>>())
        }
    };
    let by = |by: &[UsageBy]| UsageQuery { by: by.to_vec(), ..UsageQuery::default() };
    let day = (today.day(), tomorrow.day());
    for (query, expected) in [
        (by(&[]), vec![11_110]),
        (by(&[UsageBy::Day]), vec![10_110, 1_000]),
        (by(&[UsageBy::Model]), vec![10_110, 1_000]),
        (by(&[UsageBy::Owner]), vec![11_110]),
        (by(&[UsageBy::Kind]), vec![10_000, 1_110]),
        (by(&[UsageBy::Tree]), vec![11_110]),
        (by(&[UsageBy::Agent]), vec![1_110, 10_000]),
        (by(&[UsageBy::Run]), vec![1_110, 10_000]),
        (by(&[UsageBy::Agent, UsageBy::Day]), vec![110, 10_000, 1_000]),
        (UsageQuery { root: Some(root.id), ..by(&[]) }, vec![11_110]),
        (UsageQuery { agent: Some(child.id), ..by(&[]) }, vec![10_000]),
        (UsageQuery { under: Some(root.id), ..by(&[]) }, vec![11_110]),
        (UsageQuery { under: Some(child.id), ..by(&[]) }, vec![10_000]),
        (UsageQuery { kind: Some(child.kind.clone()), ..by(&[]) }, vec![10_000]),
        (UsageQuery { kind: Some("nobody".to_owned()), ..by(&[]) }, vec![0]),
        (UsageQuery { model: Some("nothing".to_owned()), ..by(&[]) }, vec![0]),
        (UsageQuery { run: Some(first.id), ..by(&[]) }, vec![1_110]),
        (UsageQuery { run: Some(second.id), ..by(&[UsageBy::Day]) }, vec![10_000]),
        (UsageQuery { from: Some(day.1), ..by(&[]) }, vec![1_000]),
        (UsageQuery { to: Some(day.0), ..by(&[]) }, vec![10_110]),
        (UsageQuery { from: Some(day.1.next()), ..by(&[]) }, vec![0]),
        (UsageQuery { from: Some(day.1.next()), ..by(&[UsageBy::Day]) }, vec![]),
        (UsageQuery { root: Some(other.id), ..by(&[]) }, vec![0]),
    ] {
        assert_eq!(inputs(query.clone()).await?, expected, "{query:?}");
    }
    let of_engine = store.usage(&Scope::All, by(&[UsageBy::Owner])).await?;
    assert_eq!(of_engine.iter().map(input).collect::<Vec<_>>(), [11_110, 100_000]);

    let all = store.usage(&Scope::Owner(owner()), by(&[UsageBy::Model])).await?;
    let usage = Usage { input: 10_110, output: 6, cached: 9, cache_written: 12, reasoning: 3 };
    let cost = Cost::from_nanos(7 + u64::from(u32::MAX));
    let tally = Tally { calls: 3, unpriced: 1, usage, cost };
    assert_eq!(all[0], UsageRow { model: Some("a".into()), tally, ..UsageRow::default() });

    // The usage of removed agents stays counted.
    let forget = Commit::new(at(3)).write(Write::PruneAgent(child.id)).write(Write::PruneAgent(root.id));
    store.commit(forget).await?;
    for (query, expected) in [
        (by(&[]), vec![11_110]),
        (by(&[UsageBy::Owner]), vec![11_110]),
        (by(&[UsageBy::Day]), vec![10_110, 1_000]),
        (by(&[UsageBy::Kind]), vec![10_000, 1_110]),
        // Owner, day, model and kind are all that is known of it.
        (by(&[UsageBy::Agent]), vec![11_110]),
        (by(&[UsageBy::Tree, UsageBy::Kind]), vec![10_000, 1_110]),
        (UsageQuery { from: Some(day.1), ..by(&[UsageBy::Run]) }, vec![1_000]),
        (UsageQuery { root: Some(root.id), ..by(&[]) }, vec![0]),
    ] {
        assert_eq!(inputs(query.clone()).await?, expected, "{query:?}");
    }
    Ok(())
}

/// Usage is summed by the hour in which it was counted, of open runs, ended ones and those that were removed. Usage
/// whose hour was not kept has none.
pub async fn usage_is_summed_by_hour(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let root = new_root(&store, owner()).await?;
    let child = new_child(&store, &root).await?;
    let (first, hour) = (at(0).hour().begins(at(0).day()), Duration::from_secs(60 * 60));
    let [second, third] = [first + hour, first + 24 * hour];
    ran(
        &store,
        &child,
        Status::Succeeded,
        &[
            (first, answer("a", 1, None)),
            (second - Duration::from_micros(1), answer("a", 10, None)),
            (second, answer("b", 100, None)),
        ],
    )
    .await?;
    let open = ran(&store, &root, Status::Running, &[(third, answer("a", 1_000, None))]).await?;
    let mut spent = open.spent.clone();
    spent[0].hour = None;
    let old = Run { spent, status: Status::Succeeded, id: RunId::new(), ..open };
    let agent = claim(&store, root.id).await?.agent;
    store.commit(Commit::fenced(&agent, at(2)).write(Write::Run(old))).await?;

    let hours = async |query: UsageQuery, by: &[UsageBy]| {
        let query = UsageQuery { by: by.to_vec(), ..query };
        let rows = store.usage(&Scope::Owner(owner()), query).await?;
        Ok::<_, crate::Error>(rows.iter().map(|row| (row.hour, input(row))).collect::<Vec<_>>())
    };
    let all = vec![(None, 1_000), (Some(first), 11), (Some(second), 100), (Some(third), 1_000)];
    let of_day = |day| UsageQuery { from: Some(day), to: Some(day), ..UsageQuery::default() };
    assert_eq!(hours(UsageQuery::default(), &[UsageBy::Hour]).await?, all);
    assert_eq!(hours(UsageQuery::default(), &[UsageBy::Hour, UsageBy::Model]).await?, all);
    assert_eq!(hours(UsageQuery::default(), &[UsageBy::Hour, UsageBy::Tree]).await?, all);
    assert_eq!(hours(of_day(third.day()), &[UsageBy::Hour]).await?, [all[0], all[3]]);
    let of_child = UsageQuery { agent: Some(child.id), ..UsageQuery::default() };
    assert_eq!(hours(of_child, &[UsageBy::Hour]).await?, all[1..3]);
    let by_day = hours(UsageQuery::default(), &[UsageBy::Day]).await?.into_iter().map(|(_, sum)| sum);
    assert_eq!(by_day.sum::<u64>(), 2_111);

    let forget = Commit::new(at(3)).write(Write::PruneAgent(child.id)).write(Write::PruneAgent(root.id));
    store.commit(forget).await?;
    assert_eq!(hours(UsageQuery::default(), &[UsageBy::Hour]).await?, all);
    assert_eq!(hours(UsageQuery::default(), &[UsageBy::Hour, UsageBy::Run]).await?, all);
    Ok(())
}

/// Sums are those over the stored rows, however often a row is written, whether or not a commit is refused, and
/// whether the run is open or has ended.
pub async fn usage_sums_match_the_stored_rows(place: impl Backing) -> Result<()> {
    sums_match(&place, owner(), Status::Running).await?;
    sums_match(&place, stranger(), Status::Succeeded).await
}

async fn sums_match<P: Backing>(place: &P, owner: Owner, status: Status) -> Result<()> {
    let mut store = place.open().await?;
    let root = new_root(&store, owner.clone()).await?;
    let mut agent = claim(&store, root.id).await?.agent;
    let (mut run, day) = (Run { status, ..run(&agent) }, Duration::from_secs(24 * 60 * 60));
    let scope = Scope::Owner(owner);
    let sums = async |store: &P::Store| {
        let query = UsageQuery { by: vec![UsageBy::Day, UsageBy::Model], ..UsageQuery::default() };
        let rows = store.usage(&scope, query).await?;
        Ok::<_, crate::Error>(rows.iter().map(|row| (row.tally.calls, input(row))).collect::<Vec<_>>())
    };
    run.charge(&answer("a", 1, None), at(0));
    store.commit(Commit::fenced(&agent, at(2)).write(Write::Run(run.clone()))).await?;
    assert_eq!(sums(&store).await?, [(1, 1)]);
    // First without more usage, then with more of the same day and of another, by two writes in one commit.
    store.commit(Commit::fenced(&agent, at(2)).write(Write::Run(run.clone()))).await?;
    let first = run.clone();
    run.charge(&answer("a", 10, None), at(0));
    let second = run.clone();
    run.charge(&answer("a", 100, None), at(0) + day);
    let both = Commit::fenced(&agent, at(3)).write(Write::Run(second)).write(Write::Run(run.clone()));
    store.commit(both).await?;
    assert_eq!(sums(&store).await?, [(2, 11), (1, 100)]);
    // A refused commit counts nothing, and neither does a claim.
    run.charge(&answer("a", 1_000, None), at(0));
    let refused = Commit::fenced(&agent, at(4)).write(Write::Run(run.clone()));
    agent = claim(&store, root.id).await?.agent;
    assert!(store.commit(refused).await.is_err());
    assert_eq!(sums(&store).await?, [(2, 11), (1, 100)]);
    // After a restart, counting continues from the stored rows.
    drop(store);
    store = place.open().await?;
    let commit = Commit::fenced(&claim(&store, agent.id).await?.agent, at(5)).write(Write::Run(run));
    store.commit(commit).await?;
    assert_eq!(sums(&store).await?, [(3, 1_011), (1, 100)]);
    // Rows are written as a whole: the last write counts, even if it has less usage.
    let commit = Commit::fenced(&claim(&store, agent.id).await?.agent, at(6)).write(Write::Run(first));
    store.commit(commit).await?;
    let of_something: Vec<_> = sums(&store).await?.into_iter().filter(|(calls, _)| *calls > 0).collect();
    assert_eq!(of_something, [(1, 1)]);
    Ok(())
}

fn input(row: &UsageRow) -> u64 {
    row.tally.usage.input
}
