//! Budgets from the command line: what is left, why an agent waits, a grant from another terminal.

use std::{
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use super::{
    data_dir::{DataDir, Ended, Patience, id},
    model::Model,
    terminal::Terminal,
};

/// A place with a kind whose tree may use no more tokens than this.
fn with_budget(tokens: u64) -> DataDir {
    with_limit(&format!("max_tree_tokens: {tokens}"))
}

/// A place with a kind whose tree has this limit.
fn with_limit(limit: &str) -> DataDir {
    let place = DataDir::new();
    let limits = format!("limits: {{{limit}, max_answer_tokens: 100}}");
    place.write(
        "data/kinds/saver.md",
        &format!("---\nname: saver\ndescription: Saves.\ntools: []\n{limits}\n---\nYou save.\n"),
    );
    place
}

/// A run beside the test; it ends with the test, also with one that fails.
struct Running {
    child: Child,
    _patience: Patience,
}

impl Running {
    fn of(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("it starts");
        let patience = Patience::with(&child);
        Self { child, _patience: patience }
    }

    fn succeeds(mut self) {
        assert!(self.child.wait().expect("it ends").success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn working(place: &DataDir) -> Running {
    Running::of(place.process(&["run", "--kind", "saver", "Say hello."]))
}

/// The same with a model that a test answers for.
fn asking(place: &DataDir, model: &Model) -> Running {
    let mut command = place.process(&["run", "--kind", "saver", "Say hello."]);
    model.ask(&mut command);
    Running::of(command)
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
fn an_amount_that_cannot_be_granted_is_refused_with_what_can() {
    let place = DataDir::new();
    for (option, amount, reason) in [
        ("--grant", "1e9", "write dollars in digits with at most nine decimals"),
        ("--grant", "0.0000000001", "write dollars in digits with at most nine decimals"),
        ("--grant", "-1", "it must be above zero"),
        ("--take-back", "-0.5", "it must be above zero"),
        ("--grant", "0", "it must be above zero"),
        ("--grant-tokens", "-1", "it must be above zero"),
    ] {
        let refused = place.entourage(&["budget", option, amount]);
        assert!(refused.error(2).contains(reason), "{refused:?}");
    }
}

#[test]
fn a_budget_is_shown_and_a_grant_from_another_terminal_lets_the_work_go_on() {
    let place = with_budget(50);
    let shown = place.entourage(&["kinds", "show", "saver"]).good().stdout;
    assert!(shown.lines().any(|line| line.trim() == "budget     50 tokens"), "{shown}");
    let running = working(&place);
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
    // The call that waited for it may have reserved its part already.
    assert!(granted.starts_with("budget of the tree: "), "{granted}");
    assert!(granted.contains(" tokens of 100050 tokens left · "), "{granted}");
    assert!(granted.ends_with(" · 100000 tokens of that granted\n"), "{granted}");
    running.succeeds();
    let budget = &place.entourage(&["budget", "--json"]).good().json()[0];
    assert_eq!((&budget["allowance"]["tokens"], &budget["granted"]["tokens"]), (&50.into(), &100_000.into()));
    let agents = place.entourage(&["agents", "--json"]).good().stdout;
    let tree = id(&agents, "agt_").to_owned();
    // The rehearsal does not say what it used.
    let presumed = budget["presumed"]["tokens"].as_u64().expect("tokens");
    assert!(presumed > 100, "{budget}");
    let left = 100_050 - presumed;
    assert_eq!(
        last_line(&place, &["usage", "--tree", &tree]),
        format!(
            "budget of the tree: {left} tokens of 100050 tokens left · presumed {presumed} tokens · 100000 tokens of \
             that granted"
        )
    );
}

fn last_line(place: &DataDir, arguments: &[&str]) -> String {
    place.entourage(arguments).good().stdout.lines().last().expect("a line").to_owned()
}

#[test]
fn a_grant_that_no_budget_takes_is_refused() {
    let place = with_budget(1_000_000);
    place.entourage(&["run", "--kind", "saver", "Say hello."]).good();
    for (arguments, why) in [
        (&["budget", "--grant", "0.50"][..], "its tree has no such budget"),
        (&["budget", "--grant-tokens", "0"], "it must be above zero"),
        (&["budget", "--grant-tokens", "18446744073709551615"], "grant at most 1000000000000 tokens at once"),
        (&["budget", "--take-back-tokens", "1"], "take back at most 0 tokens"),
        (&["budget", "--take-back", "0.50"], "its tree has no such budget"),
        (&["budget", "--take-back-tokens", "1", "--grant-tokens", "1"], "cannot be used with"),
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
fn a_grant_is_taken_back_and_the_events_tell_both() {
    let place = with_budget(1_000_000);
    place.entourage(&["run", "--kind", "saver", "Say hello."]).good();
    place.entourage(&["budget", "--grant-tokens", "500"]).good();
    let left = place.entourage(&["budget", "--take-back-tokens", "200"]).good();
    assert!(left.stdout.contains(" · 300 tokens of that granted"), "{left:?}");
    let refused = place.entourage(&["budget", "--take-back-tokens", "301"]);
    assert!(refused.error(2).contains("take back at most 300 tokens: "), "{refused:?}");
    let told = place.entourage(&["tail"]).good().stdout;
    let ends = [
        "saver 500 tokens granted to the tree by local",
        "saver 200 tokens taken back of what was granted to the tree by local",
    ];
    let lines: Vec<&str> = told.lines().filter(|line| line.contains(" by local")).collect();
    assert!(lines.len() == 2 && lines.iter().zip(ends).all(|(line, end)| line.ends_with(end)), "{told}");
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
    let model = Model::new();
    let mut command = place.process(&["run", "Say hello."]);
    model.ask(&mut command);
    let running = Running::of(command);
    model.next().text("Hello.").end_with_usage(200, 34);
    running.succeeds();
    let budget = &place.entourage(&["budget", "--json"]).good().json()[0];
    let day = budget["of"]["day"].as_str().unwrap_or_else(|| panic!("{budget}"));
    let shown = format!("budget of {day}: $19.999766 of $20.000000 left · spent $0.000234");
    for command in ["budget", "usage"] {
        assert_eq!(last_line(&place, &[command]), shown);
    }
}

#[test]
fn a_grant_in_money_lets_work_that_lacks_money_go_on() {
    let (place, model) = (with_limit("max_tree_cost: $0.00001"), Model::new());
    let price = "{ input = 1.0, output = 1.0 }";
    place.write("data/entourage.toml", &format!("[models.prices]\n\"compatible::scripted\" = {price}\n"));
    let running = asking(&place, &model);
    let why = until(&place, &["why"], |why| why.stdout.contains("the tree's budget has $0.000010 left"));
    assert!(why.stderr.contains(" --grant "), "{why:?}");
    let granted = place.entourage(&["budget", "--grant", "0.50"]).good().stdout;
    // The work that waited for it may have gone on already, and then reserves a part of what is left.
    assert!(
        granted.starts_with("budget of the tree: $0.") && granted.contains(" of $0.500010 left · "),
        "{granted}"
    );
    assert!(granted.ends_with(" · $0.500000 of that granted\n"), "{granted}");
    model.next().text("Hello.").end();
    running.succeeds();
    let budget = &place.entourage(&["budget", "--json"]).good().json()[0];
    assert_eq!(
        (&budget["allowance"]["cost"], &budget["granted"]["cost"]),
        (&10_000.into(), &500_000_000.into())
    );
}

#[test]
fn a_budget_shows_what_a_call_under_way_reserves() {
    let (place, model) = (with_budget(100_000), Model::new());
    let running = asking(&place, &model);
    let asked = model.next();
    let budget = &place.entourage(&["budget", "--json"]).good().json()[0];
    let reserved = budget["reserved"]["tokens"].as_u64().expect("tokens");
    assert!(reserved > 100, "the prompt and the longest answer: {budget}");
    let left = 100_000 - reserved;
    assert_eq!(
        place.entourage(&["budget"]).good().stdout,
        format!("budget of the tree: {left} tokens of 100000 tokens left · reserved {reserved} tokens\n")
    );
    let agents = place.entourage(&["agents", "--json"]).good().stdout;
    let usage = ["usage", "--tree", id(&agents, "agt_")];
    assert_eq!(
        last_line(&place, &usage),
        format!("budget of the tree: {left} tokens of 100000 tokens left · reserved {reserved} tokens")
    );
    asked.text("Hello.").end_with_usage(200, 34);
    running.succeeds();
    for command in [&["budget"][..], &usage] {
        assert_eq!(
            last_line(&place, command),
            "budget of the tree: 99766 tokens of 100000 tokens left · spent 234 tokens"
        );
    }
}

/// What a user reads on a screen, without its line ends.
fn words(picture: &str) -> String {
    picture.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// In front of a narrow terminal, and again when the run is resumed after a grant that nobody saw.
#[test]
fn a_run_shows_the_whole_of_what_a_budget_lacks_and_no_more_of_it_after_a_grant() {
    let (place, model) = (with_budget(50), Model::new());
    let start = |arguments: &[&str]| {
        let mut command = place.process(arguments);
        model.ask(&mut command);
        Terminal::whole(command, 60)
    };
    let mut terminal = start(&["run", "--kind", "saver", "Say hello."]);
    let picture = words(&terminal.draws("what to grant:"));
    assert!(picture.contains("saver waits for a budget"), "{picture}");
    let told = "the tree's budget has 50 tokens left, and the next call may take ";
    assert!(
        picture.contains(told) && picture.contains(" tokens; what to grant: entourage why agt_"),
        "{picture}"
    );
    drop(terminal);
    place.entourage(&["budget", "--grant-tokens", "100000"]).good();
    let mut terminal = start(&["run", "--resume"]);
    let asked = model.next();
    let shown = words(&terminal.all_until("thinks"));
    assert!(!shown.contains("50 tokens left") && !shown.contains("waits for a budget"), "{shown}");
    asked.text("Hello.").end();
    terminal.stands("Hello.");
    terminal.ended();
    let told = place.entourage(&["tail"]).good().stdout;
    let told: Vec<&str> = told.lines().filter(|line| line.contains("the tree's budget has ")).collect();
    let [notice, step, after] = told[..] else { panic!("{told:?}") };
    assert!(notice.ends_with(" tokens; grant more, and it goes on"), "{told:?}");
    assert!(step.contains("trying again in ") && step.ends_with(" tokens)"), "{told:?}");
    assert!(after.ends_with("trying again now (the tree's budget has room again)"), "{told:?}");
}
