//! The state of code that waits: kept or not, it makes no difference.

use entourage::tools::{PythonSettings, Snapshots};
use entourage_store::{Commit, Page, RecordFilter, Write};
use entourage_testkit::{Story, World, WorldBuilder};
use entourage_types::{Action, AgentId, Answer, CodeSnapshot, Scope};

use super::{lines, with_settings};
use crate::within;

fn with_snapshots(mark: &str, snapshots: Snapshots) -> WorldBuilder {
    with_settings(mark, PythonSettings { snapshots, ..PythonSettings::default() })
}

/// Shows: S3-R066, INV-03.
#[tokio::test(flavor = "multi_thread")]
async fn code_survives_a_crash_at_any_commit_with_its_state_kept_and_without() {
    let code = "
a, b = fork('A'), fork('B')
emit('forked')
answer = ask_user('Which?')
[wait(b), answer, wait(a), tool('search_notes', query='x')]
";
    let mut transcripts = Vec::new();
    for snapshots in [Snapshots::Never, Snapshots::Always] {
        let message = format!("Run:{code}");
        let story = Story::new([&*message], move |_| with_snapshots("story", snapshots)).any_order();
        let undisturbed = story.run(1, &[]).await;
        let said = undisturbed.transcripts[0].iter().find(|line| line.starts_with("output")).unwrap();
        assert!(said.starts_with("output: ['did B', 'yes', 'did A', "), "{said}");
        let points = story.survives([1], 25).await;
        assert!(points >= 12, "{points}");
        transcripts.push(undisturbed.transcripts);
    }
    assert_eq!(transcripts[0], transcripts[1], "the same with the state of the code and without");
}

/// The state of code is kept while it waits, and nothing of it is left when it has ended, however that was.
#[tokio::test]
async fn the_state_of_code_is_dropped_with_its_call() {
    let world = with_snapshots("state", Snapshots::Always).start().await;
    let count = async |root: AgentId| {
        let all = RecordFilter::<CodeSnapshot> { page: Page::all(), ..RecordFilter::of(root) };
        world.store().records(&Scope::All, all).await.unwrap().len()
    };
    for end in ["answered", "stopped", "deleted"] {
        let root = world.ask("Run:x = [1] * 1000\nask_user('Which?')\nlen(x)").await.id;
        let question = world.question(root).await;
        assert_eq!(count(root).await, 1);
        match end {
            "answered" => drop(world.client().answer(question.id, Answer::Text("yes".into())).await.unwrap()),
            "stopped" => drop(world.client().intervene(root, Action::Stop, None).await.unwrap()),
            _ => drop(world.client().intervene(root, Action::Delete, None).await.unwrap()),
        }
        within("it ends", async {
            while !world.client().agent(root).await.unwrap().status.is_terminal() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        assert_eq!(count(root).await, 0, "{end}");
        assert_eq!(world.audit().await, [], "{end}");
    }
}

async fn kept(world: &World, root: AgentId) -> CodeSnapshot {
    let all = RecordFilter::<CodeSnapshot> { page: Page::all(), ..RecordFilter::of(root) };
    let mut kept = world.store().records(&Scope::All, all).await.unwrap();
    assert_eq!(kept.len(), 1);
    kept.remove(0)
}

/// What code returns whose state was replaced by this one while it waited.
async fn output_after(world: &World, code: &str, state: &str) -> String {
    let root = world.ask(&format!("Run:{code}")).await.id;
    let question = world.question(root).await;
    let other = CodeSnapshot { state: state.to_owned(), ..kept(world, root).await };
    let commit = Commit::new(other.updated).write(Write::record(&other).unwrap());
    world.store().commit(commit).await.unwrap();
    world.client().answer(question.id, Answer::Text("ab".into())).await.unwrap();
    world.ended(root).await;
    lines(world, root).await.into_iter().find(|line| line.starts_with("output")).unwrap()
}

/// A state of more than a MiB is kept like a small one.
#[tokio::test]
async fn a_large_state_is_kept() {
    let world = with_snapshots("large", Snapshots::Always).start().await;
    let code = "x = [f'line {n}' for n in range(60_000)]\nask_user('Which?')\nsum(len(line) for line in x)";
    let root = world.ask(&format!("Run:{code}")).await.id;
    let question = world.question(root).await;
    let state = kept(&world, root).await.state;
    // As Base64, which makes four bytes of three.
    assert!(state.len() / 4 * 3 > 1 << 20, "{}", state.len());
    world.client().answer(question.id, Answer::Text("yes".into())).await.unwrap();
    world.ended(root).await;
    let length: usize = (0..60_000).map(|n| format!("line {n}").len()).sum();
    assert!(lines(&world, root).await.contains(&format!("output: {length}")));
}

/// What is left of a damaged state, and the state of another call: the code runs again.
#[tokio::test]
async fn a_state_that_does_not_fit_is_left_aside() {
    let world = with_snapshots("unfit", Snapshots::Always).start().await;
    let code = |before: u32| format!("x = {before}\nx + len(ask_user('Which?'))");
    let another = world.ask(&format!("Run:{}", code(50))).await.id;
    world.question(another).await;
    let of_another = kept(&world, another).await.state;
    for unfit in ["", "bm8gc25hcHNob3Q=", "not Base64", &of_another] {
        assert_eq!(output_after(&world, &code(40), unfit).await, "output: 42", "{unfit}");
    }
    // It is the state of that other code that was not used.
    assert_eq!(output_after(&world, &code(50), &of_another).await, "output: 52");
}
