//! Budgets from the command line: what is left, why an agent waits, a grant from another terminal.

use std::{
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use super::data_dir::{DataDir, Ended, Patience, id};

/// A place with a kind whose tree may use no more tokens than this.
fn with_budget(tokens: u64) -> DataDir {
    let place = DataDir::new();
    let limits = format!("limits: {{max_tree_tokens: {tokens}, max_answer_tokens: 100}}");
    place.write(
        "data/kinds/saver.md",
        &format!("---\nname: saver\ndescription: Saves.\ntools: []\n{limits}\n---\nYou save.\n"),
    );
    place
}

fn working(place: &DataDir) -> Child {
    let mut command = place.process(&["run", "--kind", "saver", "Say hello."]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
}

/// Repeats a command until its result is as wanted.
fn until(place: &DataDir, arguments: &[&str], wanted: impl Fn(&Ended) -> bool) -> Ended {
    let enough = Instant::now() + Duration::from_secs(60);
    loop {
        let ended = place.entourage(arguments);
        if wanted(&ended) {
            return ended;
        }
        assert!(Instant::now() < enough, "the result of {arguments:?} never became as wanted: {ended:?}");
    }
}

#[test]
fn a_budget_is_shown_and_a_grant_from_another_terminal_lets_the_work_go_on() {
    let place = with_budget(50);
    let shown = place.entourage(&["kinds", "show", "saver"]).good().stdout;
    assert!(shown.lines().any(|line| line.trim() == "budget     50 tokens"), "{shown}");
    let mut running = working(&place);
    let _patience = Patience::with(&running);
    let is_short = |why: &Ended| why.stdout.contains("the tree's budget has 50 tokens left");
    let why = until(&place, &["why"], is_short);
    assert!(why.stdout.contains("the next call may take"), "{why:?}");
    assert!(why.stderr.contains("calls with: entourage budget agt_"), "{why:?}");
    assert!(why.stderr.contains(" --grant-tokens "), "{why:?}");
    let tree = place.entourage(&["tree"]).good().stdout;
    assert!(tree.starts_with("◌ saver waits for a budget agt_"), "{tree}");
    assert_eq!(
        place.entourage(&["budget"]).good().stdout,
        "budget of the tree: 50 tokens of 50 tokens left\n"
    );
    let granted = place.entourage(&["budget", "--grant-tokens", "100000"]).good().stdout;
    assert_eq!(
        granted,
        "budget of the tree: 100050 tokens of 100050 tokens left · 100000 tokens of that granted\n"
    );
    assert!(running.wait().expect("it ends").success());
    let budget = &place.entourage(&["budget", "--json"]).good().json()[0][0];
    assert_eq!((&budget["allowance"]["tokens"], &budget["granted"]["tokens"]), (&50.into(), &100_000.into()));
    let agents = place.entourage(&["agents", "--json"]).good().stdout;
    let used = place.entourage(&["usage", "--tree", id(&agents, "agt_")]).good().stdout;
    assert!(used.lines().last().unwrap().starts_with("budget of the tree: "), "{used}");
}

#[test]
fn a_grant_that_no_budget_takes_is_refused() {
    let place = with_budget(1_000_000);
    place.entourage(&["run", "--kind", "saver", "Say hello."]).good();
    for (arguments, why) in [
        (&["budget", "--grant", "0.50"][..], "its tree has no such budget"),
        (&["budget", "--grant-tokens", "0"], "nothing is granted"),
        (&["budget", "--grant-tokens", "18446744073709551615"], "grant at most 9223372036854775807 tokens"),
        (&["budget", "--grant", "half"], "half"),
    ] {
        let refused = place.entourage(arguments);
        assert!(refused.error(2).contains(why), "{refused:?}");
    }
    place.entourage(&["run", "Say hello."]).good();
    let none = place.entourage(&["budget"]).good();
    assert_eq!(none.stdout, "");
    assert!(none.stderr.contains("no budget limits this agent"), "{none:?}");
}

#[test]
fn the_settings_limit_what_an_owner_spends_in_a_day() {
    let place = DataDir::new();
    let unpriced = "unpriced = { input = 1.0, output = 1.0 }";
    place.write(
        "data/entourage.toml",
        &format!(
            "[budget]\nper_owner_per_day = \"$5.00\"\n{unpriced}\n[budget.owners.local]\nper_day = \"$20\"\n"
        ),
    );
    place.entourage(&["run", "Say hello."]).good();
    let shown = place.entourage(&["budget"]).good().stdout;
    assert!(shown.starts_with("budget of 20") && shown.contains(" of $20.00"), "{shown}");
    let used = place.entourage(&["usage"]).good().stdout;
    assert!(used.lines().last().unwrap().starts_with("budget of 20"), "{used}");
}
