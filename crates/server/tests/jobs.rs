//! Maintenance over HTTP: what its jobs found and did, a job run now, and what is wrong at this moment.

use std::sync::Arc;

use entourage_api::Job;
use entourage_engine::NewAgent;
use entourage_server::Settings;
use entourage_store::{Commit, Write};
use entourage_store_sqlite::SqliteStore;
use entourage_types::{Agent, Author, Owner, Post, PostBody, PostId, WakeupId};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    auth::{settings, token_of},
    site::{Answer, Site, send},
};

/// Creates an agent of this owner with a message for which nothing will wake it.
async fn stranded(site: &Site, owner: &str) -> Agent {
    let agent = site.engine.client(Owner::new(owner)).create(NewAgent::default(), None).await.unwrap();
    let body = PostBody::Message {
        from: Author::User,
        text: "Read this.".into(),
        task: None,
        queued: false,
        options: None,
    };
    let post = Post { id: PostId::new(), agent: agent.id, at: agent.created, wakeup: WakeupId::new(), body };
    let commit = Commit::new(agent.created).write(Write::Post(post));
    site.engine.store().commit(commit).await.unwrap();
    agent
}

async fn run(site: &Site, job: &str) -> Answer {
    send(site.request(Method::POST, &format!("/v1/jobs/{job}/run"))).await
}

async fn inconsistencies(site: &Site) -> Value {
    site.get("/v1/jobs/stranded/inconsistencies").await.expect(200)["data"].clone()
}

/// Shows: S4-R130.
#[tokio::test]
async fn jobs_can_be_listed_inspected_and_run_over_http() {
    let site = Site::at_rest(Arc::new(SqliteStore::in_memory().unwrap()), Settings::default()).await;
    assert_eq!(inconsistencies(&site).await, json!([]));
    let agent = stranded(&site, "ada").await;
    let wrong = inconsistencies(&site).await;
    assert_eq!((&wrong[0]["job"], &wrong[0]["agent"]), (&json!("stranded"), &json!(agent.id)));
    assert!(wrong[0]["text"].as_str().unwrap().len() > 20, "{wrong}");
    assert_eq!(inconsistencies(&site).await, wrong, "to look changes nothing");

    let job_run: Job = run(&site, "stranded").await.read();
    assert_eq!((job_run.found, job_run.repaired, &job_run.error), (1, 1, &None));
    assert_eq!(inconsistencies(&site).await, json!([]));
    let again: Job = run(&site, "stranded").await.read();
    assert_eq!((again.found, again.repaired, again.repaired_ever), (0, 0, 1));

    let jobs = site.get("/v1/jobs").await.expect(200);
    let jobs: Vec<Job> = serde_json::from_value(jobs["data"].clone()).unwrap();
    let names: Vec<&str> = jobs.iter().map(|job| job.job.as_str()).collect();
    assert_eq!(names, ["wakeups", "interventions", "questions", "tasks", "waits", "stranded"]);
    assert_eq!(jobs[5], again);
    let (began, at) = (again.began.unwrap(), again.at.unwrap());
    assert!(began <= at && at < again.due && !again.purpose.is_empty(), "{again:?}");
    assert_eq!((jobs[0].at, jobs[0].found), (None, 0), "it has not run yet");
    run(&site, "sweep").await.problem(404, "not-found");
    site.get("/v1/jobs/sweep/inconsistencies").await.problem(404, "not-found");
}

#[tokio::test]
async fn only_the_operator_may_use_maintenance_jobs() {
    let site = Site::with(settings()).await;
    let alice = site.bearing(&token_of("alice"));
    for answer in [
        alice.get("/v1/jobs").await,
        alice.get("/v1/jobs/waits/inconsistencies").await,
        run(&alice, "waits").await,
    ] {
        let problem = answer.problem(403, "operator-only");
        assert!(problem.detail.contains("--owner local"), "{}", problem.detail);
    }
    site.get("/v1/jobs").await.problem(401, "unauthorized");
    let operator = site.bearing(&token_of("local"));
    let waits = &operator.get("/v1/jobs").await.expect(200)["data"][4];
    assert_eq!((&waits["job"], &waits["at"]), (&json!("waits"), &Value::Null), "nothing was done");
}
