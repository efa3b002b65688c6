//! What rounds read where there is much: only what a rule may have something to do about, and of that a bounded part.

use std::sync::Arc;

use entourage_engine::Clock as _;
use entourage_store::{Commit, MemoryStore, Store, Write};
use entourage_types::{
    Agent, CallId, HealthAct, OnEnd, OnTaskEnd, Owner, Status, Task, TaskId, TaskResult, Wakeup,
};

use super::kit::{DAY, HOUR, counted, done, goal, in_status, world};

/// Shows: S4-R122, S4-R129.
#[tokio::test]
async fn a_round_reads_no_more_for_many_goals_that_changed_lately_than_for_one() {
    let world = world(OnTaskEnd::Quiet).start().await;
    let (engine, calls) = counted(world.store(), &world);
    let reads = async || {
        let before = calls.so_far();
        let reports = engine.health_round(true).await.unwrap().reports;
        (reports.len(), calls.so_far() - before)
    };
    let rest = async || {
        let goal = goal(&world, "Rest.").await;
        in_status(&world, goal, Status::Waiting).await;
    };
    rest().await;
    let (_, one) = reads().await;
    for _ in 0..20 {
        rest().await;
    }
    assert_eq!(reads().await, (0, one));
    world.clock().advance(6 * HOUR);
    assert_eq!(reads().await.0, 21, "it does look at them");
}

/// Rounds look at a part of the goals each, and come to all of them.
///
/// Shows: S4-R127.
#[tokio::test]
async fn a_round_looks_at_a_bounded_number_of_goals_and_the_next_one_goes_on() {
    let world = world(OnTaskEnd::Quiet).start().await;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let (engine, calls) = counted(&store, &world);
    let began = world.clock().now();
    let new_goal = || Agent::root(Owner::local(), "goal", "", began);
    let mut goals = Commit::new(began);
    goals.writes = (0..6_000).map(|_| Write::NewAgent(new_goal())).collect();
    store.commit(goals).await.unwrap();
    let last = new_goal();
    let mut worker = last.child("task", "", None, began);
    worker.status = Status::Succeeded;
    let task = ended_task(&last, &worker);
    let family = [last, worker.clone()].map(Write::NewAgent);
    let commit = Commit { writes: family.to_vec(), ..Commit::new(began) };
    store.commit(commit.write(Write::record(&task).unwrap())).await.unwrap();
    world.clock().advance(16 * DAY);
    let reads = async |is_dry| {
        let before = calls.so_far();
        let reports = engine.health_round(is_dry).await.unwrap().reports;
        (done(&reports), calls.so_far() - before)
    };
    let (found, first) = reads(false).await;
    assert_eq!(found, []);
    assert!((5_000..5_300).contains(&first), "{first} calls");
    let pruned = vec![(worker.id, HealthAct::Pruned)];
    assert_eq!(reads(true).await.0, pruned, "a look comes no further");
    let (found, second) = reads(false).await;
    assert_eq!(found, pruned);
    assert!(second < 1_300, "{second} calls");
    // Then they begin anew.
    assert_eq!(reads(false).await, (vec![], first));
}

/// What one goal has that cannot be forgotten is looked at a part at a time, too.
///
/// Shows: S4-R127.
#[tokio::test]
async fn a_round_looks_at_a_bounded_number_of_tasks_of_one_goal_and_the_next_one_goes_on() {
    let world = world(OnTaskEnd::Quiet).start().await;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let (engine, calls) = counted(&store, &world);
    let began = world.clock().now();
    let goal = Agent::root(Owner::local(), "goal", "", began);
    let mut worker = goal.child("task", "", None, began);
    worker.status = Status::Succeeded;
    let mut commit = Commit::new(began);
    commit.writes.extend([goal.clone(), worker.clone()].map(Write::NewAgent));
    // What another kind did stays.
    let stays = || Task { kind: "assistant".into(), ..ended_task(&goal, &worker) };
    commit.writes.extend((0..6_000).map(|_| Write::record(&stays()).unwrap()));
    commit.push(Write::record(&ended_task(&goal, &worker)).unwrap());
    store.commit(commit).await.unwrap();
    world.clock().advance(16 * DAY);
    let reads = async || {
        let before = calls.so_far();
        let reports = engine.health_round(false).await.unwrap().reports;
        (done(&reports), calls.so_far() - before)
    };
    let (found, first) = reads().await;
    assert_eq!(found, []);
    let (found, second) = reads().await;
    assert_eq!(found, [(worker.id, HealthAct::Pruned)]);
    assert!(second < first && first < 200, "{first} and {second} calls");
    // Then it begins anew.
    assert_eq!(reads().await, (vec![], first));
}

/// Tasks whose agent has something to do again are left alone, also if there are more of them than a round forgets: the
/// next round looks behind them.
///
/// Shows: S4-R127.
#[tokio::test]
async fn tasks_that_cannot_be_forgotten_keep_no_round_from_those_behind_them() {
    let world = world(OnTaskEnd::Quiet).start().await;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let (engine, _) = counted(&store, &world);
    let began = world.clock().now();
    let [mut busy, mut idle] = [(); 2].map(|()| {
        let goal = Agent::root(Owner::local(), "goal", "", began);
        let mut worker = goal.child("task", "", None, began);
        worker.status = Status::Succeeded;
        (goal, worker)
    });
    for (goal, worker) in [&mut busy, &mut idle] {
        let mut commit = Commit::new(began);
        commit.writes.extend([&*goal, worker].map(|agent| Write::NewAgent(agent.clone())));
        store.commit(commit).await.unwrap();
    }
    // An agent that is to be woken has something to do.
    let wakeup = Wakeup::new(busy.1.id, Owner::local(), began + 20 * DAY);
    let mut commit = Commit::new(began).write(Write::ScheduleWakeup(wakeup));
    let of_busy = (0..600).map(|_| ended_task(&busy.0, &busy.1));
    let all = of_busy.chain([ended_task(&idle.0, &idle.1)]);
    commit.writes.extend(all.map(|task| Write::record(&task).unwrap()));
    store.commit(commit).await.unwrap();
    world.clock().advance(16 * DAY);
    let round = async || done(&engine.health_round(false).await.unwrap().reports);
    let left_alone = |many| vec![(busy.1.id, HealthAct::LeftAlone); many];
    assert_eq!(round().await, left_alone(500));
    let rest = [left_alone(100), vec![(idle.1.id, HealthAct::Pruned)]].concat();
    assert_eq!(round().await, rest);
    // Then they begin anew.
    assert_eq!(round().await, left_alone(500));
}

fn ended_task(from: &Agent, to: &Agent) -> Task {
    Task {
        id: TaskId::new(),
        owner: from.owner.clone(),
        root: from.id,
        from: from.id,
        to: to.id,
        call: CallId::new(),
        on_end: OnEnd::Quiet,
        group: None,
        kind: "task".into(),
        instruction: "Find it.".into(),
        title: String::new(),
        origin: None,
        status: Status::Succeeded,
        result: Some(TaskResult::Text("Found it.".into())),
        post: None,
        run: None,
        reactivated: 0,
        created: from.created,
        updated: from.created,
    }
}
